package native

import (
	"context"
	"encoding/json"
	"fmt"
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
}

// Do sends a request and decodes the JSON response into a value; into must be nil if the response
// is empty. It fails like the other methods.
func (c *Client) Do(ctx context.Context, req *Request, into any) error {
	r, err := req.encode()
	if err != nil {
		return err
	}
	return c.sendRequest(ctx, r, into)
}

func (req *Request) encode() (*request, error) {
	r := &request{method: req.Method, prefix: req.Prefix, path: req.Path, query: req.Query, header: req.Header.Clone(), most: maxAnswer}
	if req.Body != nil {
		data, err := json.Marshal(req.Body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		if r.header == nil {
			r.header = http.Header{}
		}
		r.header.Set("Content-Type", "application/json")
		r.body = data
	}
	return r, nil
}

// DoFollowed is Do for a request whose progress the server reports. progress is called on the
// calling goroutine.
func (c *Client) DoFollowed(ctx context.Context, req *Request, into any, progress func(done, total int)) error {
	r, err := req.encode()
	if err != nil {
		return err
	}
	again := c.newPatience()
	for {
		err := c.followOnce(ctx, r, into, progress)
		if err == nil {
			return nil
		}
		if err = again.waitBeforeRetry(ctx, err); err != nil {
			return err
		}
	}
}

// followOnce sends a request once and reads the lines of the response.
func (c *Client) followOnce(ctx context.Context, r *request, into any, progress func(done, total int)) error {
	resp, err := c.openResponse(ctx, r, server.ProgressType)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(io.LimitReader(resp.Body, r.most))
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
func (c *Client) errorFromLine(r *request, line json.RawMessage) error {
	var status struct {
		Status int `json:"status"`
	}
	if err := json.Unmarshal(line, &status); err != nil {
		return c.connectionError(r, err)
	}
	e := &Error{Method: r.method, URL: c.shownURL(r), Status: status.Status}
	decodeError([]byte(`{"error":`+string(line)+`}`), e)
	return e
}
