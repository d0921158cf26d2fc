// Package agents runs conversations with agents: turns of a session, each with a
// snapshot, in one process or over HTTP.
//
// A Set has the agents of a service. Each is used through a Handle, which is bound to
// the caller that asks. Package server/agents serves the handles of a set over HTTP.
package agents

import (
	"context"
	"errors"
	"iter"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/service"
)

// Handle is an agent as one caller may use it, whatever the type of its state. It is
// safe for concurrent use.
//
// An error that is a *wire.Error may be shown to clients; any other is of the service
// or of the store.
type Handle interface {
	// Name returns the name of the agent.
	Name() string
	// Metadata describes the agent.
	Metadata() wire.Metadata
	// Begin begins one turn of the conversation that the init chooses, or continues
	// the turn that the input answers. An error is one of the init. What is wrong with
	// the input, or fails later, is part of the output. The turn of a handle whose
	// state is kept by the server goes on when ctx ends.
	Begin(ctx context.Context, init *wire.Init, input *wire.Input) (Run, error)
	// Follow returns the run of a turn by the id of its snapshot, from its first chunk.
	Follow(ctx context.Context, snapshotID string) (Run, error)
	// GetSnapshot returns a snapshot, and WaitForSnapshot returns it once it is not
	// pending any more.
	GetSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error)
	WaitForSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error)
	// Abort ends the turn of a snapshot, unless it has ended.
	Abort(ctx context.Context, request *wire.AbortRequest) (*wire.AbortResponse, error)
}

// Run is a turn that was begun. One goroutine uses it.
type Run interface {
	// SnapshotID returns the id that is reserved for the snapshot of the turn; empty if
	// there is no turn, or the client keeps the state.
	SnapshotID() string
	// Chunks returns the chunks of the turn, as they come, until it ends, is
	// interrupted or was detached. A waiter, unless it is nil, waits for them. After an
	// error the turn still goes on.
	Chunks(ctx context.Context, w service.Waiter) iter.Seq2[*wire.Chunk, error]
	// Output returns what the turn came to, once it ends, is interrupted or was
	// detached.
	Output(ctx context.Context) (*wire.Output, error)
}

// Settings are what a Set is made of. The Service is required and must have a runtime.
type Settings struct {
	Service *service.Service

	_ struct{} // keyed literals only
}

// Set has the agents of a service. It is safe for concurrent use.
type Set struct{ settings Settings }

// NewSet returns the agents of a service. It fails without a service, or if the service
// has no runtime.
func NewSet(s Settings) (*Set, error) {
	if s.Service == nil {
		return nil, errors.New("the settings have no service")
	}
	if s.Service.Runtime() == nil {
		return nil, errors.New("the service has no runtime")
	}
	return &Set{settings: s}, nil
}

// Find returns an agent that a caller may use. The error is a *wire.Error.
func (s *Set) Find(caller service.Caller, name string) (Handle, error) {
	if _, err := s.settings.Service.Catalog(caller).Agent(name); err != nil {
		return nil, notFound("agent", name)
	}
	return &stored{service: s.settings.Service, caller: caller, name: name}, nil
}

// stored is an agent whose turns are those of the service.
type stored struct {
	service *service.Service
	caller  service.Caller
	name    string
}

var _ Handle = (*stored)(nil)

// Name returns the name of the agent.
func (a *stored) Name() string { return a.name }

// Metadata describes the agent.
func (*stored) Metadata() wire.Metadata {
	return wire.Metadata{StateManagement: wire.StateServer, Abortable: true}
}
