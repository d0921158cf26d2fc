package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
)

// ErrForeignAnswer reports a JSON-RPC response without its request's id.
var ErrForeignAnswer = errors.New("the answer does not have the id of the request")

// requestID returns the id of a JSON-RPC request; ok is false for any other request.
func requestID(req *http.Request) (id any, ok bool) {
	if req.GetBody == nil || req.Method != http.MethodPost {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	defer func() { _ = body.Close() }() // it is in memory
	var call struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
	}
	if json.NewDecoder(body).Decode(&call) != nil || call.Version == "" {
		return nil, false
	}
	return call.ID, true
}

// CheckID returns an error for a response to another request. An error response may lack an id, if
// the peer could not read the request's. Like the SDK, it ignores data after the response, and
// leaves it to the SDK to reject responses that are not objects.
func CheckID(data []byte, id any) error {
	var answer struct {
		ID    any             `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	if json.NewDecoder(bytes.NewReader(data)).Decode(&answer) != nil {
		return nil
	}
	if reflect.DeepEqual(answer.ID, id) || answer.ID == nil && isSet(answer.Error) {
		return nil
	}
	return ErrForeignAnswer
}

// holdToID makes reading the body fail if the response answers another JSON-RPC request.
func holdToID(req *http.Request, resp *http.Response) {
	id, ok := requestID(req)
	if !ok {
		return
	}
	if MediaType(resp) == TypeEvents {
		resp.Body = newAnswerStream(resp.Body, id)
		return
	}
	resp.Body = &wholeAnswer{ReadCloser: resp.Body, id: id}
}

// wholeAnswer is a response that is read completely before any of it is passed on.
type wholeAnswer struct {
	io.ReadCloser
	id   any
	read *bytes.Reader
	err  error
}

// Read reads the checked response.
func (a *wholeAnswer) Read(p []byte) (int, error) {
	if a.read == nil {
		data, err := io.ReadAll(a.ReadCloser)
		if err == nil {
			err = CheckID(data, a.id)
		}
		if a.err = err; errors.Is(err, ErrForeignAnswer) {
			data = nil
		}
		a.read = bytes.NewReader(data)
	}
	n, err := a.read.Read(p)
	if errors.Is(err, io.EOF) && a.err != nil {
		err = a.err
	}
	return n, err
}

// answerStream is a stream of responses to one request. Only complete events are passed on.
type answerStream struct {
	io.ReadCloser
	lines *bufio.Reader
	id    any
	// ready holds the data to pass on, and err the error after it.
	ready []byte
	err   error
}

func newAnswerStream(body io.ReadCloser, id any) *answerStream {
	return &answerStream{ReadCloser: body, lines: bufio.NewReader(body), id: id}
}

// Read reads events until one answers another request.
func (a *answerStream) Read(p []byte) (int, error) {
	if len(a.ready) == 0 && a.err == nil {
		a.ready, a.err = a.next()
	}
	if len(a.ready) == 0 {
		return 0, a.err
	}
	n := copy(p, a.ready)
	a.ready = a.ready[n:]
	return n, nil
}

// next returns the next event or the next comment outside of events. It drops comments within an
// event, because their size has no limit.
func (a *answerStream) next() (event []byte, err error) {
	var data []byte
	for {
		line, err := a.lines.ReadBytes('\n')
		if err == nil && line[0] == ':' {
			if len(event) == 0 {
				return line, nil
			}
			continue
		}
		event = append(event, line...)
		text := bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		}
		if len(text) > 0 && err == nil {
			continue
		}
		if len(data) > 0 {
			if foreign := CheckID(data, a.id); foreign != nil {
				return nil, foreign
			}
		}
		return event, err
	}
}
