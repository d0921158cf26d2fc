package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
)

// PanicError reports a panic in code that runs a turn.
type PanicError = panics.Error

// Ended returns why a turn's context ended: an error that is context.Canceled or
// context.DeadlineExceeded and includes the caller's cause, if any. It is nil while the context has
// not ended.
func Ended(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); err != nil && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// HookTimeoutError reports that the plugins took too long for a phase.
type HookTimeoutError struct {
	Phase plugins.Phase
	Limit time.Duration
}

// Error names the phase and the limit.
func (e *HookTimeoutError) Error() string {
	return fmt.Sprintf("the plugins took longer than %s in %s", e.Limit, e.Phase)
}

// Codes of failed turns, in addition to the classes of model errors.
const (
	// CodePlugin means that a plugin failed.
	CodePlugin = "plugin"
	// CodePanic means that the turn panicked.
	CodePanic = "panic"
	// CodeInternal means any other failure.
	CodeInternal = "internal"
)

// Terminator is implemented by errors of backends and plugins that determine how a turn ends.
type Terminator interface {
	error
	Termination() event.Termination
}

// TerminationOf returns the termination of a turn that failed with err.
func TerminationOf(err error) event.Termination {
	failed := func(code string) event.Termination {
		return event.Termination{Type: event.Failed, Code: code, Detail: err.Error()}
	}
	if budget, ok := errors.AsType[*BudgetError](err); ok {
		return event.Termination{Type: event.BudgetExceeded, Code: budget.Budget, Detail: budget.Error()}
	}
	if t, ok := errors.AsType[Terminator](err); ok {
		return t.Termination()
	}
	if _, ok := errors.AsType[*HookTimeoutError](err); ok {
		return failed(CodePlugin)
	}
	if _, ok := errors.AsType[*execution.HookError](err); ok {
		return failed(CodePlugin)
	}
	if _, ok := errors.AsType[*PanicError](err); ok {
		return failed(CodePanic)
	}
	class := model.ErrorClass("")
	if e, ok := errors.AsType[*model.Error](err); ok {
		class = e.Class
	}
	switch {
	case err == context.Canceled: //nolint:errorlint // without anything that explains it
		return event.Termination{Type: event.Canceled}
	case class == model.Canceled, class == "" && errors.Is(err, context.Canceled):
		return event.Termination{Type: event.Canceled, Detail: err.Error()}
	case class != "":
		return failed(string(class))
	case errors.Is(err, context.DeadlineExceeded):
		return event.Termination{Type: event.Failed, Code: string(model.Timeout), Detail: "the turn's deadline passed"}
	default:
		return failed(CodeInternal)
	}
}
