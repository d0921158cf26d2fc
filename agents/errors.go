package agents

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// newError returns an error whose text clients may see.
func newError(status wire.Status, format string, args ...any) *wire.Error {
	return &wire.Error{Status: status, Message: fmt.Sprintf(format, args...)}
}

// notFound returns the error for a record that does not exist or that the caller may
// not see.
func notFound(kind, id string) *wire.Error {
	return newError(wire.StatusNotFound, "%s %q not found", kind, clip.Text(id))
}

// nameError returns an error of the service, using the request's name for a missing record.
func nameError(err error, kind, id string) error {
	if errors.Is(err, service.ErrNotFound) {
		return notFound(kind, id)
	}
	return err
}

// turnError returns the error of a turn: its code, without the failure's text, which may expose
// internals, unless the agent's code made the text for clients.
func turnError(why *event.Termination) *wire.Error {
	if status, public := strings.CutPrefix(why.Code, publicCode); public {
		return &wire.Error{Status: wire.Status(status), Message: why.Detail}
	}
	status := wire.StatusInternal
	switch model.ErrorClass(why.Code) {
	case model.RateLimited:
		status = wire.StatusResourceExhausted
	case model.Overloaded:
		status = wire.StatusUnavailable
	case model.Timeout:
		status = wire.StatusDeadlineExceeded
	}
	return &wire.Error{Status: status, Message: "the turn failed: " + cmp.Or(why.Code, status.Label())}
}

// shownError returns an error from code in the form that clients may see.
func shownError(err error) *wire.Error {
	if shown, ok := errors.AsType[*wire.Error](err); ok {
		return shown
	}
	return &wire.Error{Status: wire.StatusInternal, Message: wire.StatusInternal.Label()}
}

// publicCode is the prefix of termination codes whose detail clients may see; the error's status
// follows.
const publicCode = "agents:"

// publicError is an error of code that clients may see.
type publicError struct {
	error
	shown *wire.Error
}

// Unwrap returns the error.
func (e *publicError) Unwrap() error { return e.error }

// Termination returns how the turn ends.
func (e *publicError) Termination() event.Termination {
	return event.Termination{Type: event.Failed, Code: publicCode + string(e.shown.Status), Detail: e.shown.Message}
}

// publishError makes an error with text for clients end its turn with that text.
func publishError(err error) error {
	if shown, ok := errors.AsType[*wire.Error](err); ok {
		return &publicError{err, shown}
	}
	return err
}
