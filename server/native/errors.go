package native

import (
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/store"
)

// The codes of requests that are refused. Each stands for an error of the service,
// which a Client gives its caller again.
const (
	codeNotFound      = "not_found"
	codeAgentNotFound = "agent_not_found"
	codeInvalid       = "invalid_request"
	codeInvalidCursor = "invalid_cursor"
	codeExists        = "exists"
	codeKeyConflict   = "key_conflict"
	codeBusy          = "busy"
	codeState         = "wrong_state"
	codeAnswered      = "answered"
	codeUnfit         = "unfit_answer"
	codeTooLarge      = "too_large"
	codeUnavailable   = "unavailable"
	codeInternal      = "internal"
)

// details are what an error says besides its message: the fields of the error that
// its code stands for.
type details struct {
	Kind      string `json:"kind,omitempty"`
	ID        string `json:"id,omitempty"`
	Nearest   string `json:"nearest,omitempty"`
	Field     string `json:"field,omitempty"`
	Problem   string `json:"problem,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	TurnID    string `json:"turn_id,omitempty"`
	State     string `json:"state,omitempty"`
	Want      string `json:"want,omitempty"`
	Key       string `json:"key,omitempty"`
	Conflict  bool   `json:"conflict,omitempty"`
}

// refusalOf returns an error of the service as it is answered; nil for one that is
// the server's own business.
func refusalOf(err error) *server.Error {
	refuse := func(status int, code string, d details) *server.Error {
		return &server.Error{Status: status, Code: code, Message: err.Error(), Details: &d}
	}
	if e, ok := errors.AsType[*runtime.NotFoundError](err); ok {
		return refuse(http.StatusNotFound, codeNotFound, details{Kind: e.Kind, ID: e.ID})
	}
	if e, ok := errors.AsType[*resolve.AgentNotFoundError](err); ok {
		return refuse(http.StatusBadRequest, codeAgentNotFound, details{ID: e.ID, Nearest: e.Nearest})
	}
	if e, ok := errors.AsType[*runtime.InvalidError](err); ok {
		return refuse(http.StatusBadRequest, codeInvalid, details{Field: e.Field, Problem: e.Problem})
	}
	if e, ok := errors.AsType[*backend.MismatchError](err); ok {
		return refuse(http.StatusBadRequest, codeInvalid, details{Field: "agent_id", Problem: e.Error()})
	}
	if errors.Is(err, runtime.ErrNoInput) {
		return refuse(http.StatusBadRequest, codeInvalid, details{Field: "input"})
	}
	if errors.Is(err, store.ErrCursor) {
		return refuse(http.StatusBadRequest, codeInvalidCursor, details{})
	}
	if errors.Is(err, store.ErrText) {
		return &server.Error{Status: http.StatusBadRequest, Code: codeInvalid, Message: store.ErrText.Error(), Details: &details{Problem: store.ErrText.Error()}}
	}
	if e, ok := errors.AsType[*backend.ResolutionError](err); ok {
		return refuse(http.StatusBadRequest, codeUnfit, details{ID: e.Target, Problem: e.Problem, Conflict: e.Conflict})
	}
	return conflictOf(err, func(code string, d details) *server.Error { return refuse(http.StatusConflict, code, d) })
}

// conflictOf returns an error that says that the request does not go together with
// what there is.
func conflictOf(err error, refuse func(code string, d details) *server.Error) *server.Error {
	if e, ok := errors.AsType[*store.ExistsError](err); ok {
		return refuse(codeExists, details{Kind: e.Kind, ID: e.ID})
	}
	if e, ok := errors.AsType[*store.KeyConflictError](err); ok {
		return refuse(codeKeyConflict, details{Key: e.Key, ID: e.ID})
	}
	if e, ok := errors.AsType[*store.BusyError](err); ok {
		return refuse(codeBusy, details{SessionID: e.SessionID, TurnID: e.TurnID})
	}
	if e, ok := errors.AsType[*store.StateError](err); ok {
		return refuse(codeState, details{Kind: e.Kind, ID: e.ID, State: e.State, Want: e.Want})
	}
	if e, ok := errors.AsType[*store.ConflictError](err); ok {
		return refuse(codeAnswered, details{TurnID: e.TurnID, ID: e.ID})
	}
	return nil
}

// causeOf returns the error that a refusal stands for; nil for one that stands for
// none.
func causeOf(code string, d *details) error {
	switch {
	case code == codeNotFound && d.Kind != "":
		return &runtime.NotFoundError{Kind: d.Kind, ID: d.ID}
	case code == codeAgentNotFound:
		return &resolve.AgentNotFoundError{Reference: resolve.Reference{ID: d.ID, Nearest: d.Nearest}}
	case code == codeInvalid && d.Problem != "":
		return &runtime.InvalidError{Field: d.Field, Problem: d.Problem}
	case code == codeInvalid && d.Field == "input":
		return runtime.ErrNoInput
	case code == codeInvalidCursor:
		return store.ErrCursor
	case code == codeUnfit:
		return &backend.ResolutionError{Target: d.ID, Problem: d.Problem, Conflict: d.Conflict}
	case code == codeExists:
		return &store.ExistsError{Kind: d.Kind, ID: d.ID}
	case code == codeKeyConflict:
		return &store.KeyConflictError{Key: d.Key, ID: d.ID}
	case code == codeBusy:
		return &store.BusyError{SessionID: d.SessionID, TurnID: d.TurnID}
	case code == codeState:
		return &store.StateError{Kind: d.Kind, ID: d.ID, State: d.State, Want: d.Want}
	case code == codeAnswered:
		return &store.ConflictError{TurnID: d.TurnID, ID: d.ID}
	default:
		return nil
	}
}
