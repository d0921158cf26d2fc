package openai

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
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

// The codes of errors that clients look for.
const (
	codeUnsupported   = "unsupported_parameter"
	codeInvalidValue  = "invalid_value"
	codeMissing       = "missing_required_parameter"
	codeModelNotFound = "model_not_found"
	codeNoPrevious    = "previous_response_not_found"
)

// requestError is a request that is refused.
type requestError struct {
	status      int
	param, code string
	message     string
	// final is set for an error that a repeated request would not cure, although its
	// status says so.
	final bool
}

// Error returns the message.
func (e *requestError) Error() string { return e.message }

// badField returns an error for a field that cannot be used.
func badField(param, format string, args ...any) error {
	return &requestError{status: http.StatusBadRequest, param: param, code: codeInvalidValue, message: fmt.Sprintf(format, args...)}
}

// missingField returns an error for a required field.
func missingField(param string) error {
	return &requestError{status: http.StatusBadRequest, param: param, code: codeMissing, message: fmt.Sprintf("Missing required parameter: '%s'.", param)}
}

// unknownModel returns an error for an agent that does not exist or that the key may not
// use.
func unknownModel(id string) error {
	return &requestError{status: http.StatusNotFound, param: "model", code: codeModelNotFound, message: fmt.Sprintf("The model '%s' does not exist", clip.Text(id))}
}

// notFound returns an error for a record that does not exist or belongs to another key.
func notFound(kind, id string) error {
	return &requestError{status: http.StatusNotFound, message: fmt.Sprintf("%s with id '%s' not found.", kind, clip.Text(id))}
}

func (e *requestError) detail() errorDetail {
	d := errorDetail{Message: e.message, Type: typeOf(e.status)}
	if e.param != "" {
		d.Param = &e.param
	}
	if e.code != "" {
		d.Code = &e.code
	}
	return d
}

func typeOf(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return typeRate
	case status >= http.StatusInternalServerError:
		return typeServer
	default:
		return typeInvalid
	}
}

// WriteError answers with an error of the router.
func (*Surface) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	refused := &requestError{status: e.Status, code: e.Code, message: e.Message}
	if e.Status == http.StatusUnauthorized {
		refused.code = "invalid_api_key"
	}
	refused.writeTo(w)
}

// WriteFailure answers with an error of a handler.
func (s *Surface) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	refused := s.describeError(r, err)
	server.NoteAudit(r.Context(), zap.String("error", refused.code))
	refused.writeTo(w)
}

// describeError returns an error as clients see it. Internal causes are only logged.
func (s *Surface) describeError(r *http.Request, err error) *requestError {
	if refused, ok := errors.AsType[*requestError](err); ok {
		return refused
	}
	f := server.Classify(r.Context(), err)
	f.Log(r.Context(), s.settings.Logger, err)
	refused := &requestError{status: f.Status, param: f.Details.Field, code: f.Code, message: f.Message}
	switch f.Class {
	case server.ClassNoAgent:
		refused, _ = errors.AsType[*requestError](unknownModel(f.Details.ID))
	case server.ClassBusy: // which a client may repeat
	case server.ClassAnswered, server.ClassExists, server.ClassKeyConflict, server.ClassWrongState, server.ClassLimit:
		refused.status = http.StatusBadRequest // clients repeat a request with 409
	}
	return refused
}

// afterBegin returns an error of a request whose run goes on: a repeated request would begin
// another one.
func (c *call) afterBegin(err error) error {
	final := *c.describeError(c.r, err)
	final.final = true
	return &final
}

// writeTo writes the error.
func (e *requestError) writeTo(w http.ResponseWriter) {
	h := w.Header()
	if e.final {
		h.Set("X-Should-Retry", "false")
	} else if e.status == http.StatusConflict || e.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	_ = server.WriteJSON(w, e.status, errorBody{e.detail()}) // a client that is gone needs no answer
}
