package agents

import (
	"context"
	"errors"
)

// TurnContext identifies a turn for code that runs in it.
type TurnContext struct {
	// SnapshotID is the id reserved for the turn's snapshot, and ParentSnapshotID the snapshot
	// that the turn continues. Both are empty if the client keeps the state.
	SnapshotID, ParentSnapshotID string
	// SessionID is the session.
	SessionID string
	// Index is the number of earlier turns in the conversation.
	Index int
	// Resumed is set if the turn was interrupted, or taken over from another worker.
	Resumed bool
}

type turnContextKey struct{}

// TurnContextFrom returns the turn that a context belongs to, or false outside of a turn.
func TurnContextFrom(ctx context.Context) (TurnContext, bool) {
	c, ok := ctx.Value(turnContextKey{}).(TurnContext)
	return c, ok
}

// ErrTurnOver reports a change after the code has returned.
var ErrTurnOver = errors.New("the turn has ended")
