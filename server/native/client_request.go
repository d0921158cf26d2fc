package native

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Request is a request that has no method of its own.
type Request struct {
	Method string
	// Prefix is the path of the protocol, without an ending slash; empty is Prefix of this
	// package.
	Prefix string
	// Path are the segments below, as they are before they are escaped.
	Path   []string
	Query  url.Values
	Header http.Header
	// Body is sent as JSON; nil sends none. The request may be sent again.
	Body any
}

// Do sends a request and reads the answer, which is JSON, into a value; nil is for a
// request that is answered with nothing. It fails as the other methods do.
func (c *Client) Do(ctx context.Context, req *Request, into any) error {
	r := &request{method: req.Method, prefix: req.Prefix, path: req.Path, query: req.Query, header: req.Header.Clone(), most: maxAnswer}
	if req.Body != nil {
		data, err := json.Marshal(req.Body)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		if r.header == nil {
			r.header = http.Header{}
		}
		r.header.Set("Content-Type", "application/json")
		r.body = data
	}
	return c.sendRequest(ctx, r, into)
}
