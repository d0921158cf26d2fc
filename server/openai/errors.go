package openai

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// errorBody is the body of an error, which clients turn into an exception.
type errorBody struct {
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
	typeInvalid = "invalid_request_error"
	typeServer  = "server_error"
	typeRate    = "rate_limit_exceeded"
)

// newRefusal returns an error with one of the codes that clients look for.
func newRefusal(status int, code, param, format string, args ...any) error {
	return &server.Refusal{Status: status, Code: code, Message: fmt.Sprintf(format, args...), Details: server.Details{Field: param}}
}

// badField returns an error for a field that cannot be used.
func badField(param, format string, args ...any) error {
	return newRefusal(http.StatusBadRequest, "invalid_value", param, format, args...)
}

// asBadField returns an error of a field that surfacekit reports as one of this protocol.
func asBadField(err error) error {
	if invalid, ok := errors.AsType[*service.InvalidError](err); ok {
		return badField(invalid.Field, "%s", invalid)
	}
	return err
}

// missingField returns an error for a required field.
func missingField(param string) error {
	return newRefusal(http.StatusBadRequest, "missing_required_parameter", param, "Missing required parameter: '%s'.", param)
}

// unknownModel returns an error for an agent that does not exist or that the key may not
// use.
func unknownModel(id string) error {
	return newRefusal(http.StatusNotFound, "model_not_found", "model", "The model '%s' does not exist", clip.Text(id))
}

// notFound returns an error for a record that does not exist or belongs to another key.
func notFound(kind, id, param string) error {
	return newRefusal(http.StatusNotFound, "", param, "%s with id '%s' not found.", kind, clip.Text(id))
}

// newErrorBody returns the body of an error. Its parameter and code may be null.
func newErrorBody(f *server.Failure) errorBody {
	d := errorDetail{Message: f.Message, Type: typeInvalid}
	switch {
	case f.Status == http.StatusTooManyRequests:
		d.Type = typeRate
	case f.Status >= http.StatusInternalServerError:
		d.Type = typeServer
	}
	if f.Details.Field != "" {
		d.Param = &f.Details.Field
	}
	if f.Code != "" {
		d.Code = &f.Code
	}
	return errorBody{d}
}

// describeError returns an error as clients see it.
func describeError(b *surfacekit.Base, r *http.Request, err error) *server.Failure {
	f := b.Describe(r, err)
	switch f.Class {
	case server.ClassNoAgent:
		return server.Classify(r.Context(), unknownModel(f.Details.ID))
	case server.ClassAnswered, server.ClassExists, server.ClassKeyConflict, server.ClassWrongState, server.ClassLimit:
		f.Status = http.StatusBadRequest // clients repeat a request with 409
	}
	return f
}

// retryHeader tells clients not to repeat a request, whatever its status.
const retryHeader = "X-Should-Retry"

// afterBegin returns the error of a request whose run continues, because a repeated request would
// start another run.
func (c *call) afterBegin(err error) error {
	c.W.Header().Set(retryHeader, "false")
	return err
}

func writeFailure(w http.ResponseWriter, f *server.Failure) {
	if h := w.Header(); h.Get(retryHeader) == "" && (f.Status == http.StatusConflict || f.Status == http.StatusServiceUnavailable) {
		h.Set("Retry-After", "1")
	}
	_ = server.WriteJSON(w, f.Status, newErrorBody(f)) // a client that is gone needs no answer
}
