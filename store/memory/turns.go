package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// CreateTurn stores a new turn and admits it if there is room.
func (m *Store) CreateTurn(ctx context.Context, n *store.NewTurn) (made *store.Turn, err error) {
	err = m.change(ctx, func(jobs *jobs) error {
		t, err := m.createTurn(n, jobs)
		if err == nil {
			made = copyTurn(&t.Turn)
		}
		return err
	})
	return made, err
}

func (m *Store) createTurn(n *store.NewTurn, jobs *jobs) (*turn, error) {
	s, err := m.session(store.Of(n.Turn.Owner), n.Turn.SessionID)
	if err != nil {
		return nil, err
	}
	scope := "turn\x00" + s.ID
	known, err := m.replay(scope, n.Key)
	if err != nil {
		return nil, err
	}
	if t, ok := m.turns[known]; ok {
		return t, nil
	}
	if _, ok := m.turns[n.Turn.ID]; ok {
		return nil, &store.ExistsError{Kind: "turn", ID: n.Turn.ID}
	}
	if s.State == store.SessionArchived {
		return nil, &store.StateError{Kind: "session", ID: s.ID, State: string(s.State), Want: "given a turn"}
	}
	if i := slices.IndexFunc(s.turns, func(t *turn) bool { return t.Status.Live() }); n.Reject && i >= 0 {
		return nil, &store.BusyError{SessionID: s.ID, TurnID: s.turns[i].ID}
	}
	m.made++
	a := &n.Turn
	t := &turn{order: m.made, Turn: store.Turn{
		ID: a.ID, SessionID: s.ID, Owner: a.Owner, AgentID: a.AgentID, Status: store.Pending, Request: bytes.Clone(a.Request),
		Metadata: bytes.Clone(a.Metadata), Background: a.Background, SnapshotID: a.SnapshotID, ParentSnapshotID: a.ParentSnapshotID,
		FromStart: a.FromStart, CreatedAt: kept(a.CreatedAt), UpdatedAt: kept(a.CreatedAt), NotBefore: kept(a.NotBefore),
	}}
	m.turns[t.ID], m.messages[t.ID] = t, copyList(n.Input)
	s.turns = append(s.turns, t)
	s.LastTurnAt, s.ActiveAt = t.CreatedAt, t.CreatedAt
	m.remember(scope, n.Key, t.ID, a.CreatedAt)
	if t.NotBefore.After(a.CreatedAt) {
		*jobs = append(*jobs, store.Job{TurnID: t.ID, NotBefore: t.NotBefore}) // the claim admits it
	} else {
		m.admit(t, a.CreatedAt, jobs)
	}
	return t, nil
}

// turn returns a turn that the scope sees. The lock is held.
func (m *Store) turn(scope store.Scope, id string) (*turn, error) {
	t, ok := m.turns[id]
	if !ok || !scope.Sees(t.Owner) {
		return nil, store.ErrNotFound
	}
	return t, nil
}

// Turn returns a turn.
func (m *Store) Turn(ctx context.Context, scope store.Scope, id string) (found *store.Turn, err error) {
	err = m.look(ctx, func() error {
		t, err := m.turn(scope, id)
		if err == nil {
			found = copyTurn(&t.Turn)
		}
		return err
	})
	return found, err
}

// Turns returns a page of turns.
func (m *Store) Turns(ctx context.Context, q store.TurnQuery) (out store.TurnPage, err error) {
	err = m.look(ctx, func() error {
		var list []*store.Turn
		for _, t := range m.turns {
			if !q.Scope.Sees(t.Owner) || q.SessionID != "" && q.SessionID != t.SessionID || q.AgentID != "" && q.AgentID != t.AgentID ||
				len(q.Statuses) > 0 && !slices.Contains(q.Statuses, t.Status) {
				continue
			}
			list = append(list, copyTurn(&t.Turn))
		}
		out.Turns, out.Next, err = page(list, q.Page, func(t *store.Turn) store.Cursor { return store.Cursor{Time: t.CreatedAt, ID: t.ID} })
		return err
	})
	return out, err
}

// UpdateTurn changes what the patch names.
func (m *Store) UpdateTurn(ctx context.Context, scope store.Scope, id string, p store.TurnPatch) (changed *store.Turn, err error) {
	err = m.look(ctx, func() error {
		t, err := m.turn(scope, id)
		if err != nil {
			return err
		}
		if p.Background != nil {
			t.Background = *p.Background
			t.UpdatedAt = p.Now
		}
		changed = copyTurn(&t.Turn)
		return nil
	})
	return changed, err
}

// EndTurn ends a live turn from outside.
func (m *Store) EndTurn(ctx context.Context, e *store.EndTurn) (ended *store.Turn, err error) {
	err = m.change(ctx, func(jobs *jobs) error {
		t, err := m.turn(e.Scope, e.TurnID)
		if err != nil {
			return err
		}
		if t.Status.Live() {
			last := e.Event
			last.Seq, last.TurnID, last.SessionID, last.Data = t.Seq+1, t.ID, t.SessionID, bytes.Clone(e.Event.Data)
			t.events, t.Seq = append(t.events, last), last.Seq
			t.Fence++
			m.end(t, e.Status, e.Result, e.Now, jobs)
		}
		ended = copyTurn(&t.Turn)
		return nil
	})
	return ended, err
}

// end puts a turn into its last state, and admits what that makes room for. The
// lock is held.
func (m *Store) end(t *turn, status store.Status, result []byte, now time.Time, jobs *jobs) {
	t.release()
	t.Status, t.Result, t.FinishedAt, t.UpdatedAt, t.state = status, bytes.Clone(result), now, now, nil
	for _, i := range t.interactions {
		if i.State == store.InteractionPending {
			i.State, i.ResolvedAt = store.InteractionCanceled, now
		}
	}
	if s, ok := m.sessions[t.SessionID]; ok {
		s.ActiveAt = now
	}
	m.makeRoom(t, now, jobs)
}

// release takes a turn from its worker, and from its tenant's room.
func (t *turn) release() {
	t.Worker, t.LeaseUntil, t.Admitted = "", time.Time{}, false
}

// Events returns events of a turn.
func (m *Store) Events(ctx context.Context, turnID string, after uint64, limit int) (list []event.Record, err error) {
	err = m.look(ctx, func() error {
		t, ok := m.turns[turnID]
		if !ok || len(t.events) == 0 {
			return nil
		}
		first := t.events[0].Seq
		skip := uint64(0)
		if after >= first {
			skip = min(after+1-first, uint64(len(t.events)))
		}
		list = slices.Clone(t.events[skip:])
		if len(list) > limit {
			list = list[:limit:limit]
		}
		for i := range list {
			list[i].Data = bytes.Clone(list[i].Data)
		}
		return nil
	})
	return list, err
}

// Journal returns the tool calls of a turn.
func (m *Store) Journal(ctx context.Context, turnID string) (list []store.JournalRow, err error) {
	err = m.look(ctx, func() error {
		if t, ok := m.turns[turnID]; ok {
			list = copyJournal(t.journal)
		}
		return nil
	})
	return list, err
}

func copyJournal(list []store.JournalRow) []store.JournalRow {
	c := slices.Clone(list)
	for i := range c {
		c[i].Entry, c[i].Result = bytes.Clone(c[i].Entry), bytes.Clone(c[i].Result)
	}
	return c
}

func copyTurn(t *store.Turn) *store.Turn {
	c := *t
	c.Request, c.Result, c.Metadata = bytes.Clone(t.Request), bytes.Clone(t.Result), bytes.Clone(t.Metadata)
	return &c
}
