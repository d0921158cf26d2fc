package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// PanicError says that code that runs a turn panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error gives the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// The codes of failed turns, besides the classes of model errors.
const (
	// CodePlugin is a turn that failed in a plugin.
	CodePlugin = "plugin"
	// CodePanic is a turn that failed by a panic.
	CodePanic = "panic"
	// CodeInternal is a turn that failed by anything else.
	CodeInternal = "internal"
)

// TerminationOf returns how a turn ends that fails with err.
func TerminationOf(err error) event.Termination {
	failed := func(code string) event.Termination {
		return event.Termination{Type: event.Failed, Code: code, Detail: err.Error()}
	}
	if _, ok := errors.AsType[*plugins.HookError](err); ok {
		return failed(CodePlugin)
	}
	if _, ok := errors.AsType[*PanicError](err); ok {
		return failed(CodePanic)
	}
	if e, ok := errors.AsType[*model.Error](err); ok && e.Class != model.Cancelled {
		return failed(string(e.Class))
	}
	switch {
	case errors.Is(err, context.Canceled):
		return event.Termination{Type: event.Cancelled}
	case errors.Is(err, context.DeadlineExceeded):
		return event.Termination{Type: event.Failed, Code: string(model.Timeout), Detail: "the turn's deadline passed"}
	default:
		return failed(CodeInternal)
	}
}
