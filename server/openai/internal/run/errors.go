package run

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// ErrorBody is the body of an error, which clients turn into an exception.
type ErrorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// The types of errors.
const (
	TypeInvalid = "invalid_request_error"
	TypeServer  = "server_error"
	TypeRate    = "rate_limit_exceeded"
)

// NewRefusal returns an error with a code that clients recognize.
func NewRefusal(status int, code, param, format string, args ...any) error {
	return &server.Refusal{Status: status, Code: code, Message: fmt.Sprintf(format, args...), Details: server.Details{Field: param}}
}

// BadField returns an error for an invalid field.
func BadField(param, format string, args ...any) error {
	return NewRefusal(http.StatusBadRequest, "invalid_value", param, format, args...)
}

// asBadField converts a field error of surfacekit to this protocol's form.
func asBadField(err error) error {
	if invalid, ok := errors.AsType[*service.InvalidError](err); ok {
		return BadField(invalid.Field, "%s", invalid)
	}
	return err
}

// MissingField returns an error for a required field.
func MissingField(param string) error {
	return NewRefusal(http.StatusBadRequest, "missing_required_parameter", param, "Missing required parameter: '%s'.", param)
}

// UnknownModel returns an error for an agent that does not exist or that the key may not
// use.
func UnknownModel(id string) error {
	return NewRefusal(http.StatusNotFound, "model_not_found", "model", "The model '%s' does not exist", clip.Text(id))
}

// NotFound returns an error for a record that does not exist or belongs to another key.
func NotFound(kind, id, param string) error {
	return NewRefusal(http.StatusNotFound, "", param, "%s with id '%s' not found.", kind, clip.Text(id))
}

// NewErrorBody returns the body of an error. Its parameter and code may be null.
func NewErrorBody(f *server.Failure) ErrorBody {
	d := errorDetail{Message: f.Message, Type: TypeInvalid}
	switch {
	case f.Status == http.StatusTooManyRequests:
		d.Type = TypeRate
	case f.Status >= http.StatusInternalServerError:
		d.Type = TypeServer
	}
	if f.Details.Field != "" {
		d.Param = &f.Details.Field
	}
	if f.Code != "" {
		d.Code = &f.Code
	}
	return ErrorBody{d}
}

// DescribeError returns an error in the client's form.
func DescribeError(b *surfacekit.Base, r *http.Request, err error) *server.Failure {
	f := b.Describe(r, err)
	switch f.Class {
	case server.ClassNoAgent:
		return server.Classify(r.Context(), UnknownModel(f.Details.ID))
	case server.ClassKeyConflict:
		f.Status, f.Details.Field, f.Message = http.StatusBadRequest, surfacekit.IdempotencyHeader, "the key of the header "+surfacekit.IdempotencyHeader+" was used for another request"
	case server.ClassAnswered, server.ClassExists, server.ClassWrongState, server.ClassLimit:
		f.Status = http.StatusBadRequest // clients repeat a request with 409
	}
	return f
}

// retryHeader tells clients not to repeat a request, regardless of its status.
const retryHeader = "X-Should-Retry"

// WriteFailure responds with an error.
func WriteFailure(w http.ResponseWriter, f *server.Failure) {
	if h := w.Header(); h.Get(retryHeader) == "" && (f.Status == http.StatusConflict || f.Status == http.StatusServiceUnavailable) {
		h.Set("Retry-After", "1")
	}
	_ = server.WriteJSON(w, f.Status, NewErrorBody(f)) // a client that is gone needs no answer
}
