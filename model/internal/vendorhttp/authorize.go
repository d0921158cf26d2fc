package vendorhttp

import (
	"context"
	"maps"
	"net/http"
	"regexp"

	"github.com/agentruntime/agentruntime/model"
)

// Endpoint is where the API of a vendor is reached at another one, such as a cloud.
type Endpoint struct {
	// Vendor is the name that observers know.
	Vendor string
	// Path returns the path of the requests for a model, below the base URL.
	Path func(model string) (string, error)
	// Keys matches the keys and tokens of the vendor.
	Keys *regexp.Regexp
	// UnknownPath is appended to the message of a server that does not know the path.
	UnknownPath string
	// Authorize returns what shows the server who asks. It is called for each call.
	Authorize Authorize
}

// Authorize returns the authorization of one call. It may ask another server for it, for
// as long as the context lasts.
type Authorize func(ctx context.Context) (Authorization, error)

// Authorization shows a server who asks.
type Authorization struct {
	// Headers are further headers of the requests. Their values are secrets.
	Headers map[string]string
	// Sign signs a request with the given body; nil for none.
	Sign func(req *http.Request, body []byte) error
	// Refused is called when the server answers 401 or 403; it may be nil.
	Refused func()
}

// authorize returns the API as one call reaches it: with its authorization.
func (a *API) authorize(ctx context.Context) (*API, error) {
	if a.protocol.Authorize == nil {
		return a, nil
	}
	granted, err := a.protocol.Authorize(ctx)
	if err != nil {
		failure := *model.AsError(err) // others may have got the same one
		return nil, a.failures.Named(&failure)
	}
	bound := *a
	bound.granted = granted
	bound.header = a.header.Clone()
	secrets := make(map[string]string, len(a.access.Headers)+len(granted.Headers))
	maps.Copy(secrets, a.access.Headers)
	for name, value := range granted.Headers {
		bound.header.Set(name, value)
		secrets["granted: "+name] = value
	}
	bound.failures.Redactor = newRedactor(a.access.APIKey, secrets, a.protocol.Keys)
	return &bound, nil
}

// noteRefusal tells the authorization that the server did not accept it.
func (a *API) noteRefusal(status int) {
	if (status == http.StatusUnauthorized || status == http.StatusForbidden) && a.granted.Refused != nil {
		a.granted.Refused()
	}
}
