package server

import (
	"net/http"
	"reflect"
	"time"
)

// refuseRequest answers a request with an error instead of calling its handler, with Retry-After if
// a retry may succeed.
func refuseRequest(w http.ResponseWriter, r *http.Request, writer ErrorWriter, e *Error) {
	x := exchangeFrom(r.Context())
	e.RequestID, x.code = x.id, e.Code
	w.Header().Set("Cache-Control", "no-store")
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", formatSeconds(time.Second))
	}
	if writer != nil {
		writer.WriteError(w, r, e)
		return
	}
	WriteError(w, e)
}

// writeError writes the failure in a surface's error format or the server's own.
func (f *Failure) writeError(w http.ResponseWriter, r *http.Request, writer ErrorWriter) {
	e := &Error{Status: f.Status, Code: f.Code, Message: f.Message}
	if !reflect.ValueOf(f.Details).IsZero() {
		e.Details = f.Details
	}
	refuseRequest(w, r, writer, e)
}

// errorBody is the body of an error response in the server's own format.
type errorBody struct {
	_ struct{} `additionalProperties:"false"`

	Error struct {
		_ struct{} `additionalProperties:"false"`

		Code      string `json:"code" jsonschema:"Machine-readable error code." examples:"['unauthorized','insufficient_scope','rate_limited']"`
		Message   string `json:"message" jsonschema:"Human-readable error message."`
		RequestID string `json:"request_id" jsonschema:"ID of the request in the log."`
		Details   any    `json:"details,omitempty" jsonschema:"Details of the error, such as the ID of the resource."`
	} `json:"error"`
}

// WriteError writes an error in the server's own format:
// {"error":{"code","message","request_id","details"}}. Empty details are omitted.
func WriteError(w http.ResponseWriter, e *Error) {
	var body errorBody
	body.Error.Code, body.Error.Message, body.Error.RequestID, body.Error.Details = e.Code, e.Message, e.RequestID, e.Details
	if err := WriteJSON(w, e.Status, body); err != nil {
		w.WriteHeader(e.Status) // not reached: strings and encodable details
	}
}
