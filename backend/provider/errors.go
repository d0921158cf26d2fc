package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The codes of turns that failed at a provider.
const (
	// CodeFailed means that the provider reported the turn as failed.
	CodeFailed = "provider_failed"
	// CodeUnavailable is a provider that cannot be started or reached.
	CodeUnavailable = "provider_unavailable"
	// CodeLost is a turn that was lost with the provider's process.
	CodeLost = "provider_lost"
	// CodeDrained means that the turn took longer than its provider waits when it is shut down or
	// no longer configured.
	CodeDrained = "provider_drained"
	// CodeRefused is a provider that answered a call with an error.
	CodeRefused = "provider_refused"
	// CodeProtocol means that the provider violated the protocol.
	CodeProtocol = "provider_protocol"
	// CodeCapability means that the turn needs a capability that the provider lacks.
	CodeCapability = "provider_capability"
	// CodeWorkspace means that the workspace of the turn's session no longer exists.
	CodeWorkspace = "workspace_unavailable"
	// CodeUnmetered means that the turn has a budget based on usage, which providers do not report.
	CodeUnmetered = "provider_unmetered"
)

// TurnError reports why a turn at a provider failed.
type TurnError struct {
	// Code is a code of this package; empty for a turn that the provider canceled.
	Code   string
	Detail string
	// Err is the cause; nil if the provider gave none.
	Err error
}

var _ backend.Terminator = (*TurnError)(nil)

// Error returns what went wrong.
func (e *TurnError) Error() string { return e.Detail }

// Unwrap returns the cause.
func (e *TurnError) Unwrap() error { return e.Err }

// Termination returns how the turn ends.
func (e *TurnError) Termination() event.Termination {
	if e.Code == "" {
		return event.Termination{Type: event.Canceled, Detail: e.Detail}
	}
	return event.Termination{Type: event.Failed, Code: e.Code, Detail: e.Detail}
}

// explainError returns why a call to the provider failed: the end of the turn's context,
// if that is the cause.
func (d *drive) explainError(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if ended := backend.Ended(ctx); ended != nil {
		return ended
	}
	if _, ok := errors.AsType[*TurnError](err); ok {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	if d.lostBy(ctx, err) {
		d.at.Live = false
		return d.lostError(err)
	}
	return &TurnError{Code: CodeRefused, Detail: fmt.Sprintf("agent provider %q could not %s: %s: %s", d.at.Provider, what, s.Code(), s.Message()), Err: err}
}

// lostError returns the error for a lost turn.
func (d *drive) lostError(err error) error {
	return &TurnError{Code: CodeLost, Detail: fmt.Sprintf("the turn was lost with the process of agent provider %q", d.at.Provider), Err: err}
}

// drainedError returns the error for a turn no longer waited for.
func (d *drive) drainedError() error {
	return &TurnError{Code: CodeDrained, Detail: fmt.Sprintf(
		"agent provider %q is shut down or was changed in the configuration, and the turn took longer than its drain_timeout", d.at.Provider)}
}

// lossPatience is the maximum time until a process's end is noticed.
const lossPatience = 2 * time.Second

// lostBy reports whether the turn's process has ended, given the error of a call to it. A
// connection may break before the end of the process is noticed.
func (d *drive) lostBy(ctx context.Context, err error) bool {
	if status.Code(err) != codes.Unavailable || d.isLost() {
		return d.isLost()
	}
	timer := time.NewTimer(lossPatience)
	defer timer.Stop()
	select {
	case <-d.process.current().Lost():
	case <-timer.C:
	case <-ctx.Done():
	}
	return d.isLost()
}

// isLost reports whether the turn's process has ended.
func (d *drive) isLost() bool {
	p := d.process.current()
	if p == nil {
		return true
	}
	select {
	case <-p.Lost():
		return true
	default:
		return false
	}
}
