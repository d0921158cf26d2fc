package provider

import (
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
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
