package vendorhttp

import (
	"context"
	"maps"
	"net/http"
	"regexp"

	"github.com/agentruntime/agentruntime/model"
)

// Endpoint describes a vendor's API that is served elsewhere, such as by a cloud.
type Endpoint struct {
	// Vendor is the vendor's name for observers.
	Vendor string
	// Path returns the path of the requests for a model, below the base URL.
	Path func(model string) (string, error)
	// Keys matches the keys and tokens of the vendor.
	Keys *regexp.Regexp
	// UnknownPath is appended to the error message when the server does not know the path.
	UnknownPath string
	// Authorize returns the credentials for the server. It is called for each call.
	Authorize Authorize
}

// Authorize returns the authorization of one call. It may request it from another server, within
// ctx.
type Authorize func(ctx context.Context) (Authorization, error)

// Authorization identifies the caller to a server.
type Authorization struct {
	// Headers are additional request headers. Their values are secrets.
	Headers map[string]string
	// Sign signs a request with the given body; nil for none.
	Sign func(req *http.Request, body []byte) error
	// Refused is called when the server answers 401 or 403; it may be nil.
	Refused func()
}

// authorize returns the API with the authorization of one call.
func (a *API) authorize(ctx context.Context) (*API, error) {
	if a.protocol.Authorize == nil {
		return a, nil
	}
	granted, err := a.protocol.Authorize(ctx)
	if err != nil {
		failure := *model.AsError(err) // concurrent callers may share it
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

// noteRefusal reports to the authorization that the server did not accept it.
func (a *API) noteRefusal(status int) {
	if (status == http.StatusUnauthorized || status == http.StatusForbidden) && a.granted.Refused != nil {
		a.granted.Refused()
	}
}
