package provider

import (
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
)

// The codes of turns that failed at a provider.
const (
	// codeFailed means that the provider reported the turn as failed.
	codeFailed = "provider_failed"
	// codeUnavailable is a provider that cannot be started or reached.
	codeUnavailable = "provider_unavailable"
	// codeLost is a turn that was lost with the provider's process.
	codeLost = "provider_lost"
	// codeDrained means that the turn took longer than its provider waits when it is shut down or
	// no longer configured.
	codeDrained = "provider_drained"
	// codeRefused is a provider that answered a call with an error.
	codeRefused = "provider_refused"
	// codeProtocol means that the provider violated the protocol.
	codeProtocol = "provider_protocol"
	// codeCapability means that the turn needs a capability that the provider lacks.
	codeCapability = "provider_capability"
	// codeWorkspace means that the workspace of the turn's session no longer exists.
	codeWorkspace = "workspace_unavailable"
	// codeUnmetered means that the turn has a budget based on usage, which providers do not report.
	codeUnmetered = "provider_unmetered"
)

// turnError reports why a turn at a provider failed.
type turnError struct {
	// Code is a code of this package; empty for a turn that the provider canceled.
	Code   string
	Detail string
	// Err is the cause; nil if the provider gave none.
	Err error
}

var _ backend.Terminator = (*turnError)(nil)

// Error returns what went wrong.
func (e *turnError) Error() string { return e.Detail }

// Unwrap returns the cause.
func (e *turnError) Unwrap() error { return e.Err }

// Termination returns how the turn ends.
func (e *turnError) Termination() event.Termination {
	if e.Code == "" {
		return event.Termination{Type: event.Canceled, Detail: e.Detail}
	}
	return event.Termination{Type: event.Failed, Code: e.Code, Detail: e.Detail}
}
