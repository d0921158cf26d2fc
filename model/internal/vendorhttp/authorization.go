package vendorhttp

import (
	"context"
	"net/http"
	"regexp"
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
