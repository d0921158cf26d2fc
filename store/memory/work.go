package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// Claim makes the worker the owner of a pending turn.
func (m *Store) Claim(ctx context.Context, c *store.Claim) (claimed *store.Claimed, err error) {
	err = m.look(ctx, func() error {
		t, ok := m.turns[c.TurnID]
		if !ok {
			return store.ErrNotFound
		}
		if t.Status != store.Pending {
			return &store.StateError{Kind: "turn", ID: t.ID, State: string(t.Status), Want: "claimed"}
		}
		if !t.Admitted && !m.admit(t, c.Now, new(jobs)) {
			return store.ErrHeld
		}
		s := m.sessions[t.SessionID]
		if begun := s.started(); begun != nil && begun != t {
			t.Admitted = false
			return store.ErrHeld
		}
		if t.StartedAt.IsZero() {
			t.StartedAt = c.Now
			if t.ParentSnapshotID == "" && !t.FromStart {
				t.ParentSnapshotID = s.Tip
			}
		}
		t.Status, t.Worker, t.Fence = store.Running, c.Worker, t.Fence+1
		t.UpdatedAt = c.Now
		// Leases go by the clock of the store, as in Heartbeat and Reap.
		t.HeartbeatAt = time.Now().UTC().Truncate(time.Microsecond)
		t.LeaseUntil = t.HeartbeatAt.Add(c.Lease)
		claimed = m.claimed(t, s)
		return nil
	})
	return claimed, err
}

func (m *Store) claimed(t *turn, s *session) *store.Claimed {
	c := &store.Claimed{
		Turn: *copyTurn(&t.Turn), Session: *copySession(&s.Session), State: bytes.Clone(t.state),
		Messages: copyList(m.messages[t.ID]), Journal: copyJournal(t.journal),
	}
	if kept, ok := m.snapshots[t.ParentSnapshotID]; ok {
		c.Snapshot = copySnapshot(kept)
	}
	for _, i := range t.interactions {
		c.Interactions = append(c.Interactions, copyInteraction(i))
	}
	return c
}

// Heartbeat prolongs the leases of a worker's turns.
func (m *Store) Heartbeat(ctx context.Context, worker string, lease time.Duration, held []store.Held) (lost []string, err error) {
	err = m.look(ctx, func() error {
		now := time.Now().UTC().Truncate(time.Microsecond)
		for _, h := range held {
			t, ok := m.turns[h.TurnID]
			if !ok || t.Status != store.Running || t.Worker != worker || t.Fence != h.Fence {
				lost = append(lost, h.TurnID)
				continue
			}
			t.HeartbeatAt, t.LeaseUntil = now, now.Add(lease)
		}
		return nil
	})
	return lost, err
}

// Commit appends to a turn, and changes its state.
func (m *Store) Commit(ctx context.Context, c *store.Commit) error {
	return m.change(ctx, func(jobs *jobs) error {
		t, ok := m.turns[c.TurnID]
		if !ok || t.Status != store.Running || t.Fence != c.Fence {
			return &store.FencedError{TurnID: c.TurnID, Fence: c.Fence}
		}
		m.append(t, c)
		switch {
		case c.Finish != nil:
			m.finish(t, c.Finish, c.Now, jobs)
		case c.Suspend != nil:
			m.suspend(t, c.Suspend, c.Now, jobs)
		case c.Yield:
			t.release()
			t.Status = store.Pending
			m.admit(t, c.Now, jobs)
			m.makeRoom(t, c.Now, jobs)
		}
		return nil
	})
}

func (m *Store) append(t *turn, c *store.Commit) {
	for _, ev := range c.Events {
		ev.Data = bytes.Clone(ev.Data)
		t.events, t.Seq = append(t.events, ev), ev.Seq
	}
	if c.State != nil {
		t.state, t.Strikes, t.Steps = bytes.Clone(c.State), 0, c.Steps
	}
	if c.Finish != nil {
		t.Steps = max(t.Steps, c.Steps)
	}
	m.messages[t.ID] = append(m.messages[t.ID], copyList(c.Messages)...)
	for _, row := range copyJournal(c.Journal) {
		if i := slices.IndexFunc(t.journal, func(known store.JournalRow) bool { return known.Key == row.Key }); i >= 0 {
			t.journal[i] = row
		} else {
			t.journal = append(t.journal, row)
		}
	}
	for _, a := range c.Artifacts {
		m.artifacts[a.ID] = copyArtifact(a)
		t.artifacts = append(t.artifacts, a.ID)
	}
	t.UpdatedAt = c.Now
}

func (m *Store) finish(t *turn, f *store.Finish, now time.Time, jobs *jobs) {
	if f.Snapshot != nil {
		kept := copySnapshot(f.Snapshot)
		m.snapshots[kept.ID] = kept
		m.sessions[t.SessionID].Tip = kept.ID
	}
	m.end(t, f.Status, f.Result, now, jobs)
}

func (m *Store) suspend(t *turn, s *store.Suspend, now time.Time, jobs *jobs) {
	for _, i := range s.Asked {
		t.interactions = append(t.interactions, copyInteraction(i))
	}
	t.release()
	t.Status = store.Waiting
	if slices.ContainsFunc(t.interactions, func(i *store.Interaction) bool {
		return slices.Contains(s.Open, i.ID) && i.State != store.InteractionPending
	}) {
		t.Status = store.Pending
		m.admit(t, now, jobs)
	}
	m.makeRoom(t, now, jobs)
}

// Reap takes turns from workers whose leases have ended, and queues what is due.
func (m *Store) Reap(ctx context.Context, now time.Time) (n int, err error) {
	err = m.change(ctx, func(jobs *jobs) error {
		ended := time.Now()
		n = m.take(jobs, now, func(t *turn) bool { return t.LeaseUntil.Before(ended) })
		for _, t := range m.held() {
			m.admit(t, now, jobs)
		}
		return nil
	})
	return n, err
}

// Recover takes all running turns from their workers, which are dead, and queues
// what is admitted.
func (m *Store) Recover(ctx context.Context, now time.Time) (n int, err error) {
	err = m.change(ctx, func(jobs *jobs) error {
		n = m.take(jobs, now, func(*turn) bool { return true })
		for _, t := range m.turns {
			if t.Status != store.Pending {
				continue
			}
			if t.Admitted || t.NotBefore.After(now) {
				*jobs = append(*jobs, store.Job{TurnID: t.ID, NotBefore: t.NotBefore})
			}
		}
		for _, t := range m.held() {
			m.admit(t, now, jobs)
		}
		return nil
	})
	return n, err
}

// take makes running turns pending.
func (m *Store) take(jobs *jobs, now time.Time, which func(*turn) bool) (n int) {
	for _, t := range m.turns {
		if t.Status != store.Running || !which(t) {
			continue
		}
		t.release()
		t.Status, t.UpdatedAt = store.Pending, now
		t.Strikes++
		m.admit(t, now, jobs)
		n++
	}
	return n
}
