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

// shortestSecret is the length, in bytes, from which on the value of a header is
// hidden. Shorter ones would be found in any text.
const shortestSecret = 6

// headerSecrets returns what of the header must not be shown: a peer may repeat it.
func (h fixedHeader) headerSecrets() []string {
	var found []string
	for _, values := range h {
		for _, value := range values {
			// A peer may repeat it without the scheme before it: "Bearer …".
			for _, secret := range []string{value, value[strings.LastIndexByte(value, ' ')+1:]} {
				if len(secret) >= shortestSecret {
					found = append(found, secret)
				}
			}
		}
	}
	return found
}

// Set puts the header on a request.
func (h fixedHeader) Set(req *http.Request) (string, error) {
	for name, values := range h {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return "", nil
}

// Renew has nothing new.
func (fixedHeader) Renew(context.Context, string) bool { return false }

// querySecrets returns what of a URL's query must not be shown: errors name the
// URL, and peers may repeat it.
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
