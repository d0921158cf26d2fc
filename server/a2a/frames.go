package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
)

// firstFrame holds back the header of a stream until its first frame is available. The SDK begins a
// stream before it knows whether there is one; if the first frame is an error, that becomes the
// response.
type firstFrame struct {
	http.ResponseWriter
	phase framePhase
	// held is the buffered first frame or error.
	held []byte
	// rpc is set when the frames are answers of JSON-RPC, whose errors have the status
	// 200. eventsOnly is set when the client accepts only a stream, so that errors are
	// events, too.
	rpc, eventsOnly bool
	// old also writes errors for readers of version 0.3.
	old bool
	// outage is set if the request fails only temporarily.
	outage *atomic.Bool
	// failed is the status of an error whose body is corrected at the end.
	failed int
}

// framePhase is how far the response of a firstFrame has come.
//
//	            header of a stream            first frame is no error
//	fresh ───────────────────────────▶ holding ────────────────────▶ passing
//	  │                                   │                             ▲
//	  │                                   │ first frame is an error     │
//	  │                                   └──────────▶ refused          │
//	  └─────────────────────────────────────────────────────────────────┘
//	            any other header, or write
type framePhase uint8

const (
	// frameFresh: nothing was written.
	frameFresh framePhase = iota
	// frameHolding: a stream whose header was not sent.
	frameHolding
	// framePassing: written data is sent directly.
	framePassing
	// frameRefused: the response was an error; the rest is dropped.
	frameRefused
)

// beginPhase marks the response as begun, unless it already is.
func (f *firstFrame) beginPhase(as framePhase) {
	if f.phase == frameFresh {
		f.phase = as
	}
}

var (
	dataField = []byte("data: ")
	idField   = []byte("id: ")
)

// WriteHeader begins the response, unless it is a stream.
func (f *firstFrame) WriteHeader(status int) {
	if status == http.StatusOK && f.phase == frameFresh && strings.HasPrefix(f.Header().Get("Content-Type"), "text/event-stream") {
		f.beginPhase(frameHolding)
		return
	}
	f.beginPhase(framePassing)
	if status >= http.StatusBadRequest && !f.rpc {
		f.failed = status
		return
	}
	f.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the response. Each part of a frame comes in one piece.
func (f *firstFrame) Write(p []byte) (int, error) {
	f.beginPhase(framePassing)
	switch {
	case f.phase == frameRefused:
		return len(p), nil
	case f.failed != 0:
		f.held = append(f.held, p...)
		return len(p), nil
	case f.phase != frameHolding:
		return f.ResponseWriter.Write(p)
	case bytes.HasPrefix(p, idField):
		f.held = append(f.held, p...)
		return len(p), nil
	}
	if data, ok := bytes.CutPrefix(p, dataField); ok && f.refuseIfError(data) {
		return len(p), nil
	}
	if err := f.releaseHeld(); err != nil {
		return 0, err
	}
	return f.ResponseWriter.Write(p)
}

// refuseIfError makes an error the response, if the data of the first frame is one.
func (f *firstFrame) refuseIfError(data []byte) bool {
	var frame struct {
		Error *struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if f.eventsOnly || json.Unmarshal(data, &frame) != nil || frame.Error == nil || !f.rpc && (frame.Error.Code < http.StatusBadRequest || frame.Error.Code > 599) {
		return false
	}
	f.phase = frameRefused
	h := f.Header()
	for _, name := range []string{"Cache-Control", "Connection", "X-Accel-Buffering"} {
		h.Del(name)
	}
	if f.rpc {
		f.writeBody(http.StatusOK, data)
		return true
	}
	f.writeFailure(frame.Error.Code, data)
	return true
}

// writeFailure writes an error.
func (f *firstFrame) writeFailure(status int, body []byte) {
	if !json.Valid(body) { // not a protocol path
		f.ResponseWriter.Header().Del("Content-Length")
		writeProblem(f.ResponseWriter, status, "METHOD_NOT_FOUND", "unknown method")
		return
	}
	if f.outage != nil && f.outage.Load() {
		body = markUnavailable(body)
	}
	if f.old {
		body = oldError(body)
	}
	f.writeBody(status, body)
}

// writeBody writes an error unchanged.
func (f *firstFrame) writeBody(status int, body []byte) {
	f.Header().Set("Content-Type", "application/json") // the only type that the SDK's clients accept
	f.ResponseWriter.WriteHeader(status)
	_, _ = f.ResponseWriter.Write(append(bytes.TrimSpace(body), '\n')) // a disconnected client misses nothing
}

// markUnavailable returns an error with the code and status of a temporary failure.
func markUnavailable(body []byte) []byte {
	var fields map[string]map[string]any
	if json.Unmarshal(body, &fields) != nil || fields["error"] == nil {
		return body
	}
	fields["error"]["code"], fields["error"]["status"] = http.StatusServiceUnavailable, statusName(http.StatusServiceUnavailable)
	data, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return data
}

// oldError adds the fields of version 0.3, whose error codes are JSON-RPC's.
func oldError(body []byte) []byte {
	var e struct {
		Error struct {
			Message string `json:"message"`
			Details []struct {
				Reason string `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	var fields map[string]any
	if json.Unmarshal(body, &e) != nil || json.Unmarshal(body, &fields) != nil || fields["error"] == nil {
		return body
	}
	fields["code"], fields["message"] = codeInternal, e.Error.Message
	for _, d := range e.Error.Details {
		if code, ok := codeOf[d.Reason]; ok {
			fields["code"] = code
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return data
}

// releaseHeld sends the buffered data.
func (f *firstFrame) releaseHeld() error {
	f.phase = framePassing
	f.ResponseWriter.WriteHeader(http.StatusOK)
	_, err := f.ResponseWriter.Write(f.held)
	f.held = nil
	return err
}

// Flush sends the written data, unless it is being buffered.
func (f *firstFrame) Flush() {
	if f.phase != frameHolding && f.phase != frameRefused && f.failed == 0 {
		_ = http.NewResponseController(f.ResponseWriter).Flush() // an error shows up in the next write
	}
}

// Unwrap returns the wrapped writer.
func (f *firstFrame) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// finishResponse sends the rest after the handler has returned. A successful deletion responds
// with an empty object.
func (f *firstFrame) finishResponse(method string) {
	if f.phase == frameHolding {
		_ = f.releaseHeld() // it had no frame
		return
	}
	if f.failed != 0 {
		f.writeFailure(f.failed, f.held)
		return
	}
	if f.phase == frameFresh && method == http.MethodDelete {
		_, _ = f.ResponseWriter.Write([]byte("{}\n"))
	}
}

// keptResponse buffers a JSON-RPC response, which is short, until it is corrected.
type keptResponse struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader keeps the status.
func (k *keptResponse) WriteHeader(status int) { k.status = status }

// Write buffers a part of the body.
func (k *keptResponse) Write(p []byte) (int, error) { return k.body.Write(p) }

// writeResult writes the response. If it has neither result nor error, empty is the result.
func (k *keptResponse) writeResult(empty string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(k.body.Bytes(), &fields) == nil && (fields["result"] == nil || string(fields["result"]) == "null") {
		k.setResult(json.RawMessage(empty))
	}
	k.writeBody()
}

// setResult replaces the result, unless the response is an error.
func (k *keptResponse) setResult(result json.RawMessage) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(k.body.Bytes(), &fields) != nil || fields["error"] != nil {
		return
	}
	fields["result"] = result
	if data, err := json.Marshal(fields); err == nil {
		k.body = *bytes.NewBuffer(data)
	}
}

// writeBody writes the response.
func (k *keptResponse) writeBody() {
	k.Header().Set("Content-Type", "application/json")
	if k.status != 0 {
		k.ResponseWriter.WriteHeader(k.status)
	}
	_, _ = k.ResponseWriter.Write(k.body.Bytes()) // a disconnected client misses nothing
}
