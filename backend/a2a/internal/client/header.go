package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// fixedHeader is a credential that the caller made.
type fixedHeader http.Header

// shortestSecret is the minimum length, in bytes, of a header value to hide. Shorter ones would be
// found in any text.
const shortestSecret = 6

// headerSecrets returns the header's values to hide, which a peer may repeat.
func (h fixedHeader) headerSecrets() []string {
	var found []string
	for _, values := range h {
		for _, value := range values {
			// A peer may repeat the value without its scheme: "Bearer …".
			for _, secret := range []string{value, value[strings.LastIndexByte(value, ' ')+1:]} {
				if len(secret) >= shortestSecret {
					found = append(found, secret)
				}
			}
		}
	}
	return found
}

// Set sets the header on a request.
func (h fixedHeader) Set(req *http.Request) (string, error) {
	for name, values := range h {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return "", nil
}

// Renew has nothing new.
func (fixedHeader) Renew(context.Context, string) bool { return false }

// querySecrets returns the secrets in a URL's query: errors name the URL, and peers may repeat it.
func querySecrets(u *url.URL) []string {
	secrets := []string{}
	if u.RawQuery != "" {
		secrets = append(secrets, u.RawQuery)
	}
	for _, values := range u.Query() {
		secrets = append(secrets, slices.DeleteFunc(values, func(v string) bool { return len(v) < shortestSecret })...)
	}
	return secrets
}
