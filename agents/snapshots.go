package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// SnapshotStore keeps the snapshots of an agent in a store of one's own. Implementations
// pass snapshottest.Run. They are safe for concurrent use, and copy what they
// are given and return.
//
// A store that is a SnapshotWatcher as well lets turns be detached and aborted.
type SnapshotStore interface {
	// GetSnapshot returns a snapshot, and GetLatestSnapshot that of a session with the
	// latest CreatedAt; of those created at the same time the one with the greatest id.
	// They return nil if there is none.
	GetSnapshot(ctx context.Context, id string) (*wire.Snapshot, error)
	GetLatestSnapshot(ctx context.Context, sessionID string) (*wire.Snapshot, error)
	// SaveSnapshot is one atomic change of a snapshot: it calls change with the one that
	// exists, or nil, and saves what that returns; nil saves nothing. change may be
	// called again if somebody else changed the snapshot meanwhile. An error of change is
	// returned. The store sets the id, keeps the session of an existing snapshot, refuses
	// one without a session, and makes an empty status completed; all times are the
	// caller's.
	SaveSnapshot(ctx context.Context, id string, change func(existing *wire.Snapshot) (*wire.Snapshot, error)) (*wire.Snapshot, error)
}

// SnapshotWatcher is implemented by stores that report changes of a snapshot's status.
type SnapshotWatcher interface {
	// WatchStatus returns a channel with the status of a snapshot, and then with each
	// new one. A reader that is slow gets the latest and may miss others. The channel is
	// closed when ctx ends, and at once for a snapshot that does not exist.
	WatchStatus(ctx context.Context, id string) (<-chan wire.SnapshotStatus, error)
}

// Heartbeat is how a process shows that it works on a detached turn of a SnapshotStore.
// The zero value is the defaults.
type Heartbeat struct {
	// Interval is the time between two heartbeats; 0 is 30 seconds.
	Interval time.Duration
	// Expiry is how old the latest one is when the turn reads as expired; 0 is 60
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
