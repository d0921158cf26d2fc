package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// SnapshotStore is a custom store for an agent's snapshots. Implementations must pass
// snapshottest.Run, be safe for concurrent use, and copy their arguments and results.
//
// A store that also implements SnapshotWatcher supports detaching and aborting turns.
type SnapshotStore interface {
	// GetSnapshot returns a snapshot. GetLatestSnapshot returns the session's snapshot with the
	// latest CreatedAt and, if equal, the greatest id. Both return nil if it does not exist.
	GetSnapshot(ctx context.Context, id string) (*wire.Snapshot, error)
	GetLatestSnapshot(ctx context.Context, sessionID string) (*wire.Snapshot, error)
	// SaveSnapshot changes a snapshot atomically: it calls change with the existing snapshot, or
	// nil, and saves the result; nil saves nothing. change may be called again if the snapshot
	// changed in the meantime. It returns the error of change. The store sets the id, keeps the
	// session of an existing snapshot, rejects one without a session, and turns an empty status
	// into completed; the caller sets all times.
	SaveSnapshot(ctx context.Context, id string, change func(existing *wire.Snapshot) (*wire.Snapshot, error)) (*wire.Snapshot, error)
}

// SnapshotWatcher is implemented by stores that report changes of a snapshot's status.
type SnapshotWatcher interface {
	// WatchStatus returns a channel with the current status of a snapshot, followed by each new
	// one. A slow reader gets the latest and may miss others. The channel is closed when ctx ends,
	// or immediately if the snapshot does not exist.
	WatchStatus(ctx context.Context, id string) (<-chan wire.SnapshotStatus, error)
}

// Heartbeat configures how a process shows that it works on a detached turn of a SnapshotStore. The
// zero value uses the defaults.
type Heartbeat struct {
	// Interval is the time between two heartbeats; 0 means 30 seconds.
	Interval time.Duration
	// Expiry is the age of the latest heartbeat at which the turn reads as expired; 0 means 60
	// seconds.
	Expiry time.Duration
}

func (h Heartbeat) withDefaults() Heartbeat {
	if h.Interval == 0 {
		h.Interval = 30 * time.Second
	}
	if h.Expiry == 0 {
		h.Expiry = 60 * time.Second
	}
	return h
}

func (h Heartbeat) check(name string) error {
	full := h.withDefaults()
	if h.Interval < 0 || h.Expiry < 0 {
		return fmt.Errorf("agent %q: a heartbeat time is less than 0", name)
	}
	if full.Expiry <= full.Interval {
		return fmt.Errorf("agent %q: a heartbeat each %s expires after %s: the expiry must be longer", name, full.Interval, full.Expiry)
	}
	return nil
}

var errStopped = errors.New("the turn was aborted")
