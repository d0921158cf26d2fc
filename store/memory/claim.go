package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// Claim makes the worker the owner of a pending turn.
func (m *Store) Claim(ctx context.Context, c *store.Claim) (claimed *store.Claimed, err error) {
	err = m.withJobs(ctx, func(jobs *jobs) error {
		claimed, err = m.claimTurn(c, jobs)
		return err
	})
	if err == nil && claimed == nil {
		err = store.ErrHeld
	}
	return claimed, err
}

// claimTurn returns nil for a turn that is held back. Holding it back may have changed the store.
func (m *Store) claimTurn(c *store.Claim, made *jobs) (*store.Claimed, error) {
	t, ok := m.turns[c.TurnID]
	if !ok {
		return nil, store.ErrNotFound
	}
	if t.Status != store.Pending {
		return nil, &store.StateError{Kind: "turn", ID: t.ID, State: string(t.Status), Want: "claimed"}
	}
	now := truncateTime(c.Now)
	if !t.Admitted && !m.admitTurn(t, now, new(jobs)) {
		return nil, nil
	}
	s := m.sessions[t.SessionID]
	if started := s.startedTurn(); started != nil && started != t {
		// Another turn that became due has taken the session. The end of that turn queues this one
		// again.
		t.Admitted = false
		m.makeRoom(t, now, made)
		return nil, nil
	}
	if t.StartedAt.IsZero() {
		t.StartedAt = now
		if t.ParentSnapshotID == "" && !t.FromStart {
			t.ParentSnapshotID = s.Tip
		}
	}
	t.setStatus(store.Running, now)
	t.Worker, t.Fence = c.Worker, t.Fence+1
	t.Revision = cmp.Or(t.Revision, c.Revision)
	t.holdLease(c.Lease)
	return m.claimedTurn(t, s), nil
}

// holdLease gives a turn to its worker for the duration of a lease. Leases use the store's clock
// because the callers' clocks may differ.
func (t *turn) holdLease(lease time.Duration) {
	now := time.Now()
	t.HeartbeatAt, t.LeaseUntil = truncateTime(now), truncateTime(now.Add(lease))
}

// claimedTurn returns everything needed to run a turn.
func (m *Store) claimedTurn(t *turn, s *session) *store.Claimed {
	c := &store.Claimed{
		Turn: *copyTurn(&t.Turn), Session: *copySession(&s.Session), State: bytes.Clone(t.state),
		Messages: copyList(m.messages[t.ID]), Journal: copyJournal(t.journal),
	}
	if parent, ok := m.snapshots[t.ParentSnapshotID]; ok {
		c.Snapshot = copySnapshot(parent)
	}
	for _, i := range t.interactions {
		c.Interactions = append(c.Interactions, copyInteraction(i))
	}
	return c
}

// Heartbeat extends the leases of a worker's turns.
func (m *Store) Heartbeat(ctx context.Context, worker string, lease time.Duration, held []store.Held) (lost []string, err error) {
	err = m.withLock(ctx, func() error {
		for _, h := range held {
			t, ok := m.live[h.TurnID]
			if !ok || t.Status != store.Running || t.Worker != worker || t.Fence != h.Fence {
				lost = append(lost, h.TurnID)
				continue
			}
			t.holdLease(lease)
		}
		return nil
	})
	return lost, err
}

// LiveRevisions returns the revisions in which live turns and runs began.
func (m *Store) LiveRevisions(ctx context.Context) ([]string, error) {
	live := make(map[string]bool)
	err := m.withLock(ctx, func() error {
		m.eachLiveRevision(func(hash string) { live[hash] = true })
		return nil
	})
	return slices.Collect(maps.Keys(live)), err
}
