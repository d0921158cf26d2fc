package backend_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/google/go-cmp/cmp"
)

// rejected is an error with its own termination.
type rejected struct{}

func (rejected) Error() string { return "no" }

func (rejected) Termination() event.Termination {
	return event.Termination{Type: event.Blocked, Code: "no"}
}

func TestHowATurnEndsByAnError(t *testing.T) {
	failed := func(code, detail string) event.Termination {
		return event.Termination{Type: event.Failed, Code: code, Detail: detail}
	}
	hook := &execution.HookError{Plugin: "p", Phase: plugins.StepEnd, Err: context.Canceled}
	for _, tt := range []struct {
		err  error
		want event.Termination
	}{
		{context.Canceled, event.Termination{Type: event.Canceled}},
		{fmt.Errorf("%w: shutdown", context.Canceled), event.Termination{Type: event.Canceled, Detail: "context canceled: shutdown"}},
		{&model.Error{Class: model.Canceled}, event.Termination{Type: event.Canceled, Detail: "cancelled"}},
		{context.DeadlineExceeded, failed("timeout", "the turn's deadline passed")},
		{&model.Error{Class: model.Overloaded, Message: "busy"}, failed("overloaded", "overloaded: busy")},
		{fmt.Errorf("ask: %w", &model.Error{Class: model.Timeout, Err: context.DeadlineExceeded}), failed("timeout", "ask: timeout")},
		{hook, failed(backend.CodePlugin, "plugin p in StepEnd: context canceled")},
		{&backend.PanicError{Value: "oops"}, failed(backend.CodePanic, "panic: oops")},
		{fmt.Errorf("ask: %w", rejected{}), event.Termination{Type: event.Blocked, Code: "no"}},
		{errors.New("disk full"), failed(backend.CodeInternal, "disk full")},
	} {
		if diff := cmp.Diff(tt.want, backend.TerminationOf(tt.err)); diff != "" {
			t.Errorf("%v: %s", tt.err, diff)
		}
	}
}

func TestWhyAContextEnded(t *testing.T) {
	if err := backend.Ended(t.Context()); err != nil {
		t.Errorf("it has not ended, yet %v", err)
	}
	plain, cancel := context.WithCancel(t.Context())
	cancel()
	if err := backend.Ended(plain); err == nil || err.Error() != context.Canceled.Error() {
		t.Errorf("the error is %v", err)
	}
	why := errors.New("the lease is lost")
	told, cancelWith := context.WithCancelCause(t.Context())
	cancelWith(why)
	if err := backend.Ended(told); !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if err := backend.Ended(late); err == nil || err.Error() != context.DeadlineExceeded.Error() {
		t.Errorf("the error is %v", err)
	}
}
