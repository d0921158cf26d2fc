package native

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/agentruntime/agentruntime/server"
)

// Request is a request without a dedicated method.
type Request struct {
	Method string
	// Prefix is the path of the protocol, without a trailing slash; empty means Prefix of this
	// package.
	Prefix string
	// Path has the unescaped path segments below Prefix.
	Path   []string
	Query  url.Values
	Header http.Header
	// Body is sent as JSON; nil sends none. The request may be sent again.
	Body any
	// most limits the size of the response, in bytes; 0 means maxAnswer.
	most int64
}

// Do sends a request and decodes the JSON response into a value; into must be nil if the response
// is empty. It fails like the other methods.
func (c *Client) Do(ctx context.Context, req *Request, into any) error {
	return c.sendRetried(ctx, req, func(body []byte) error { return c.sendOnce(ctx, req, body, into) })
}

// DoFollowed is Do for a request whose progress the server reports. progress is called on the
// calling goroutine.
func (c *Client) DoFollowed(ctx context.Context, req *Request, into any, progress func(done, total int)) error {
	return c.sendRetried(ctx, req, func(body []byte) error { return c.followOnce(ctx, req, body, into, progress) })
}

// followOnce sends a request once and reads the lines of the response.
func (c *Client) followOnce(ctx context.Context, r *Request, body []byte, into any, progress func(done, total int)) error {
	resp, err := c.openResponse(ctx, r, body, server.ProgressType)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))
	for {
		var line struct {
			Progress *server.Progress `json:"progress"`
			Result   json.RawMessage  `json:"result"`
			Error    json.RawMessage  `json:"error"`
		}
		if err := lines.Decode(&line); err != nil {
			return c.connectionError(r, err)
		}
		switch {
		case line.Progress != nil:
			progress(line.Progress.Done, line.Progress.Total)
		case line.Error != nil:
			return c.errorFromLine(r, line.Error)
		case line.Result != nil:
			return json.Unmarshal(line.Result, into)
		default:
			return c.answerError(r, resp, "the answer is not the JSON that it should be")
		}
	}
}

// errorFromLine returns the error that a server writes after its response has begun.
func (c *Client) errorFromLine(r *Request, line json.RawMessage) error {
	var status struct {
		Status int `json:"status"`
	}
	if err := json.Unmarshal(line, &status); err != nil {
		return c.connectionError(r, err)
	}
	e := &Error{Method: r.Method, URL: c.shownURL(r), Status: status.Status}
	decodeError([]byte(`{"error":`+string(line)+`}`), e)
	return e
}
