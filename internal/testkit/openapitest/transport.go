// Package openapitest compares the requests and responses of a server under test with its OpenAPI
// description.
package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"testing"
)

// Transport returns a round tripper for clients of a server with a description,
// which it asks for at each request. It fails the test when
//
//   - an answer has a status, a media type, a header or a body that its operation
//     does not describe; each event of a stream is held against the schema of the
//     stream,
//   - a request is taken which is not as its operation describes it,
//   - a request is taken where no operation is described.
//
// A request answered with a JSON-RPC error is not compared. Except for streams, responses are
// read completely before they are returned.
func Transport(t testing.TB, next http.RoundTripper, describe func() ([]byte, error)) http.RoundTripper {
	return &transport{t: t, next: next, describe: describe, requests: true}
}

// AnswerTransport returns a round tripper that checks only responses, for tests of requests
// beyond the description.
func AnswerTransport(t testing.TB, next http.RoundTripper, describe func() ([]byte, error)) http.RoundTripper {
	return &transport{t: t, next: next, describe: describe}
}

type transport struct {
	t        testing.TB
	next     http.RoundTripper
	describe func() ([]byte, error)
	// requests is set if requests are checked too.
	requests bool
}

// RoundTrip sends a request and checks the answer.
func (tr *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := req.Body != nil && req.Body != http.NoBody
	body, known := []byte(nil), !sent
	if sent && req.GetBody != nil {
		if again, err := req.GetBody(); err == nil {
			body, err = io.ReadAll(again)
			known = err == nil
		}
	}
	resp, err := tr.next.RoundTrip(req)
	if err != nil || req.Method == http.MethodHead || req.Method == http.MethodOptions {
		return resp, err
	}
	text, err := tr.describe()
	if err != nil {
		tr.t.Errorf("the server has no description: %v", err)
		return resp, nil
	}
	d, err := loadDescription(text)
	if err != nil {
		tr.t.Errorf("the description of the server is not valid: %v", err)
		return resp, nil
	}
	op, values := d.findOperation(req.Method, req.URL.EscapedPath())
	taken := resp.StatusCode < http.StatusMultipleChoices
	if op == nil {
		if taken {
			tr.t.Errorf("%s %s gives %d and is not described", req.Method, req.URL.Path, resp.StatusCode)
		}
		return resp, nil
	}
	failed := tr.checkResponse(op, resp)
	if tr.requests && taken && known && !failed {
		if err := op.checkRequest(req, values, body); err != nil {
			tr.t.Errorf("%s takes a request that is not described: %v\n%s", op, err, clipText(body))
		}
	}
	return resp, nil
}

// CloseIdleConnections closes the idle connections of the wrapped round tripper.
func (tr *transport) CloseIdleConnections() {
	if next, ok := tr.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// checkResponse checks an answer against its operation's description. A stream is checked while it
// is read. failed reports whether the answer is a JSON-RPC error.
func (tr *transport) checkResponse(op *operation, resp *http.Response) (failed bool) {
	described, err := op.describedResponse(resp)
	if err != nil {
		tr.t.Errorf("%s: %v", op, err)
		return false
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	if media == eventStream {
		schema, err := described.schemaOf(media)
		if err != nil {
			tr.t.Errorf("%s: %v", op, err)
			return false
		}
		resp.Body = &events{ReadCloser: resp.Body, look: func(data []byte) {
			if string(data) == "[DONE]" { // the end of OpenAI's streams
				return
			}
			if err := validateJSON(schema, data); err != nil {
				tr.t.Errorf("%s sends an event that is not described: %v\n%s", op, err, clipText(data))
			}
		}}
		return false
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil { // the reader gets the error
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return false
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err := described.checkBody(media, body); err != nil {
		tr.t.Errorf("%s answers %d with what is not described: %v\n%s", op, resp.StatusCode, err, clipText(body))
	}
	var rpc struct {
		Version string          `json:"jsonrpc"`
		Error   json.RawMessage `json:"error"`
	}
	return json.Unmarshal(body, &rpc) == nil && rpc.Version != "" && rpc.Error != nil
}

// failing is a reader that fails.
type failing struct{ err error }

// Read fails.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// events is a stream of server-sent events that are checked while they are read.
type events struct {
	io.ReadCloser
	look func(data []byte)
	// line is the beginning of the current line, and data the event's data so far.
	line, data []byte
}

// Read reads on.
func (e *events) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			e.line = append(e.line, rest...)
			break
		}
		e.takeLine(append(e.line, rest[:end]...))
		e.line, rest = e.line[:0], rest[end+1:]
	}
	return n, err
}

// takeLine handles a line.
func (e *events) takeLine(line []byte) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		if len(e.data) > 0 {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, bytes.TrimPrefix(data, []byte(" "))...)
		return
	}
	if len(line) == 0 && len(e.data) > 0 {
		e.look(e.data)
		e.data = nil
	}
}

// clipText returns the beginning of a text.
func clipText(text []byte) string {
	const most = 1 << 10
	if len(text) <= most {
		return string(text)
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:most], len(text))
}
