package native

import (
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// The error codes of rejected requests. Each represents an error of the service, which a Client
// returns to its caller.
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
)

// causeOf returns the service error that a code represents; nil if none exists.
func causeOf(code string, d *server.Details) error {
	switch {
	case code == codeNotFound && d.Kind != "":
		return &service.NotFoundError{Kind: d.Kind, ID: d.ID}
	case code == codeAgentNotFound:
		return &resolve.AgentNotFoundError{Reference: resolve.Reference{ID: d.ID, Nearest: d.Nearest}}
	case code == codeInvalid && d.Problem != "":
		return &service.InvalidError{Field: d.Field, Problem: d.Problem}
	case code == codeInvalid && d.Field == "input":
		return runtime.ErrNoInput
	case code == codeInvalidCursor:
		return service.ErrCursor
	case code == codeUnfit:
		return &interaction.AnswerError{Target: d.ID, Problem: d.Problem, Conflict: d.Conflict}
	case code == codeExists:
		return &service.ExistsError{Kind: d.Kind, ID: d.ID}
	case code == codeKeyConflict:
		return &service.KeyConflictError{Key: d.Key, ID: d.ID}
	case code == codeBusy:
		return &service.BusyError{SessionID: d.SessionID, TurnID: d.TurnID}
	case code == codeState:
		return &service.StateError{Kind: d.Kind, ID: d.ID, State: d.State, Want: d.Want}
	case code == codeAnswered:
		return &service.ConflictError{TurnID: d.TurnID, ID: d.ID}
	default:
		return nil
	}
}
