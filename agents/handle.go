// Package agents runs conversations with agents: turns of a session, each with a snapshot, in one
// process or over HTTP.
//
// A Set holds the agents of a service. Each is used through a Handle, which is bound to a caller.
// Package server/agents serves the handles of a set over HTTP.
package agents

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// Handle is one caller's view of an agent, for any type of state. It is safe for concurrent use.
//
// A *wire.Error may be shown to clients; any other error comes from the service or the store.
type Handle interface {
	// Name returns the name of the agent.
	Name() string
	// Metadata describes the agent.
	Metadata() wire.Metadata
	// Begin starts a turn of the conversation chosen by init, or continues the turn that the
	// input answers. Only problems with init are errors; problems with the input and later
	// failures are part of the output. If the server keeps the state, the turn continues when ctx
	// ends.
	Begin(ctx context.Context, init *wire.Init, input *wire.Input) (Run, error)
	// Connect opens the conversation that the init chooses, for several turns.
	Connect(ctx context.Context, init *wire.Init) (Connection, error)
	// Detach starts a turn in the background and returns its output at once.
	Detach(ctx context.Context, init *wire.Init, input *wire.Input, o DetachOptions) (*wire.Output, error)
	// Follow returns a run by the id of its stream, or the run of a turn by the id of its
	// snapshot, from its first chunk.
	Follow(ctx context.Context, id string) (Run, error)
	// GetSnapshot returns a snapshot; WaitForSnapshot waits until it is no longer pending.
	GetSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error)
	WaitForSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error)
	// Abort ends the turn of a snapshot, unless it has ended.
	Abort(ctx context.Context, request *wire.AbortRequest) (*wire.AbortResponse, error)
}

// Connection is a conversation of several turns for one goroutine.
type Connection interface {
	// SessionID returns the id of the session.
	SessionID() string
	// Begin starts the next turn, as Handle.Begin does. The previous turn must have ended, been
	// interrupted or been detached.
	Begin(ctx context.Context, input *wire.Input) (Run, error)
	// DetachRun moves the run to the background and returns its output at once.
	DetachRun(ctx context.Context, run Run) (*wire.Output, error)
}

// DetachOptions are the options of a background turn. The zero value is ready to use.
type DetachOptions struct {
	// NotBefore is when the turn begins; zero means immediately.
	NotBefore time.Time
	// Deadline is when the turn must have ended; zero means never.
	Deadline time.Time
	// Metadata is a JSON object stored with the turn.
	Metadata json.RawMessage

	_ struct{} // keyed literals only
}

// Run is a started turn. It is for one goroutine.
type Run interface {
	// SnapshotID returns the id reserved for the turn's snapshot; empty without a turn, or if the
	// client keeps the state.
	SnapshotID() string
	// StreamID identifies the run's chunks for Follow: those since the turn began or continued. It
	// is empty if SnapshotID is.
	StreamID() string
	// Chunks returns the chunks of the turn as they arrive, until it ends, is interrupted or is
	// detached. The turn continues even after an error.
	Chunks(ctx context.Context) iter.Seq2[*wire.Chunk, error]
	// Output waits until the turn ends, is interrupted or is detached, and returns its output.
	Output(ctx context.Context) (*wire.Output, error)
}
