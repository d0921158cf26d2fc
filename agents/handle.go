// Package agents runs conversations with agents: turns of a session, each with a
// snapshot, in one process or over HTTP.
//
// A Set has the agents of a service. Each is used through a Handle, which is bound to
// the caller that asks. Package server/agents serves the handles of a set over HTTP.
package agents

import (
	"context"
	"encoding/json"
	"iter"
	"time"

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
	// GetSnapshot returns a snapshot, and WaitForSnapshot returns it once it is not
	// pending any more.
	GetSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error)
	WaitForSnapshot(ctx context.Context, request *wire.GetSnapshotRequest) (*wire.Snapshot, error)
	// Abort ends the turn of a snapshot, unless it has ended.
	Abort(ctx context.Context, request *wire.AbortRequest) (*wire.AbortResponse, error)
}

// Connection is a conversation of several turns. One goroutine uses it.
type Connection interface {
	// SessionID returns the id of the session.
	SessionID() string
	// Begin begins the next turn, as Handle.Begin does. The turn before it has ended, is
	// interrupted or was detached.
	Begin(ctx context.Context, input *wire.Input) (Run, error)
	// DetachRun moves the run to the background and returns its output at once.
	DetachRun(ctx context.Context, run Run) (*wire.Output, error)
}

// DetachOptions are the options of a background turn. The zero value is ready to use.
type DetachOptions struct {
	// NotBefore is when the turn begins; zero is at once.
	NotBefore time.Time
	// Deadline is when it must have ended; zero is never.
	Deadline time.Time
	// Metadata is a JSON object that is kept with the turn.
	Metadata json.RawMessage

	_ struct{} // keyed literals only
}

// Run is a turn that was begun. One goroutine uses it.
type Run interface {
	// SnapshotID returns the id reserved for the turn's snapshot; empty without a turn, or if the
	// client keeps the state.
	SnapshotID() string
	// StreamID identifies the chunks of the run, for Follow: those since the turn began or
	// continued. It is empty where the SnapshotID is.
	StreamID() string
	// Chunks returns the chunks of the turn as they arrive, until it ends, is interrupted or is
	// detached. w, if not nil, waits for them. After an error the turn still continues.
	Chunks(ctx context.Context, w service.Waiter) iter.Seq2[*wire.Chunk, error]
	// Output waits until the turn ends, is interrupted or is detached, and returns its output.
	Output(ctx context.Context) (*wire.Output, error)
}
