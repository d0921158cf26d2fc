package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// CreateTurn stores a new turn and admits it if there is room.
func (m *Store) CreateTurn(ctx context.Context, n *store.NewTurn) (made *store.Turn, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	err = m.withJobs(ctx, func(jobs *jobs) error {
		t, err := m.createTurn(n, jobs)
		if err == nil {
			made = copyTurn(&t.Turn)
		}
		return err
	})
	return made, err
}

func (m *Store) createTurn(n *store.NewTurn, jobs *jobs) (*turn, error) {
	s, err := m.findSession(store.Of(n.Turn.Owner), n.Turn.SessionID)
	if err != nil {
		return nil, err
	}
	scope := "turn\x00" + s.ID
	known, err := m.replayKey(scope, n.Key)
	if err != nil {
		return nil, err
	}
	if known != "" {
		return m.turns[known], nil
	}
	if _, ok := m.turns[n.Turn.ID]; ok {
		return nil, &store.ExistsError{Kind: "turn", ID: n.Turn.ID}
	}
	if err := rules.CheckActive(s.ID, s.State); err != nil {
		return nil, err
	}
	if n.Reject && len(s.live) > 0 {
		return nil, &store.BusyError{SessionID: s.ID, TurnID: s.live[0].ID}
	}
	t := m.newTurn(&n.Turn)
	m.turns[t.ID], m.live[t.ID], m.messages[t.ID] = t, t, copyList(n.Input)
	s.turns, s.live = append(s.turns, t), append(s.live, t)
	s.LastTurnAt, s.ActiveAt = laterOf(s.LastTurnAt, t.CreatedAt), laterOf(s.ActiveAt, t.CreatedAt)
	m.rememberKey(scope, n.Key, s.ID, t.ID, t.CreatedAt)
	if t.NotBefore.After(t.CreatedAt) {
		*jobs = append(*jobs, store.Job{TurnID: t.ID, NotBefore: t.NotBefore}) // the claim admits it
	} else {
		m.admitTurn(t, t.CreatedAt, jobs)
	}
	return t, nil
}

// newTurn returns a turn that is not yet admitted.
func (m *Store) newTurn(a *store.Turn) *turn {
	m.made++
	return &turn{order: m.made, Turn: store.Turn{
		ID: a.ID, SessionID: a.SessionID, Owner: a.Owner, AgentID: a.AgentID, Status: store.Pending, Request: bytes.Clone(a.Request),
		Metadata: bytes.Clone(a.Metadata), Background: a.Background, SnapshotID: a.SnapshotID, ParentSnapshotID: a.ParentSnapshotID,
		FromStart: a.FromStart, CreatedAt: truncateTime(a.CreatedAt), UpdatedAt: truncateTime(a.CreatedAt), ChangedAt: truncateTime(a.CreatedAt),
		NotBefore: truncateTime(a.NotBefore),
	}}
}

// findTurn returns a turn that the scope sees.
func (m *Store) findTurn(scope store.Scope, id string) (*turn, error) {
	t, ok := m.turns[id]
	if !ok || !scope.Sees(t.Owner) {
		return nil, store.ErrNotFound
	}
	return t, nil
}

// SessionAgents returns the agents for which turns of a session were created.
func (m *Store) SessionAgents(ctx context.Context, sessionID string) (agents []string, err error) {
	err = m.withLock(ctx, func() error {
		if s, ok := m.sessions[sessionID]; ok {
			for _, t := range s.turns {
				agents = append(agents, t.AgentID)
			}
		}
		return nil
	})
	slices.Sort(agents)
	return slices.Compact(agents), err
}

// setStatus puts a turn into a state.
func (t *turn) setStatus(status store.Status, now time.Time) {
	if t.Status != status {
		t.Status, t.ChangedAt = status, now
	}
	t.UpdatedAt = now
}

// Turn returns a turn.
func (m *Store) Turn(ctx context.Context, scope store.Scope, id string) (found *store.Turn, err error) {
	err = m.withLock(ctx, func() error {
		t, err := m.findTurn(scope, id)
		if err == nil {
			found = copyTurn(&t.Turn)
		}
		return err
	})
	return found, err
}

// Positions returns the current positions of turns.
func (m *Store) Positions(ctx context.Context, turnIDs []string) (list []store.Position, err error) {
	err = m.withLock(ctx, func() error {
		for _, id := range turnIDs {
			if t, ok := m.turns[id]; ok {
				list = append(list, store.Position{TurnID: id, Status: t.Status, Seq: t.Seq})
			}
		}
		return nil
	})
	return list, err
}

// Turns returns a page of turns.
func (m *Store) Turns(ctx context.Context, q store.TurnQuery) (out store.TurnPage, err error) {
	err = m.withLock(ctx, func() error {
		var list []*store.Turn
		for _, t := range m.turnsOf(q.Statuses) {
			if matchesTurn(&t.Turn, &q) && m.sessions[t.SessionID].hasLabels(q.Labels) {
				list = append(list, copyTurn(&t.Turn))
			}
		}
		if q.Count {
			out.Total = len(list)
		}
		out.Turns, out.Next, err = rules.SortPage(list, q.Page, rules.TurnCursor(&q))
		return err
	})
	return out, err
}

// turnsOf returns turns that include all turns with one of the statuses. Few turns are live at a
// time, however many there are.
func (t *turnTable) turnsOf(statuses []store.Status) map[string]*turn {
	if len(statuses) == 0 || slices.ContainsFunc(statuses, func(s store.Status) bool { return !s.Live() }) {
		return t.turns
	}
	return t.live
}

// matchesTurn reports whether a query selects a turn, regardless of the labels.
func matchesTurn(t *store.Turn, q *store.TurnQuery) bool {
	return q.Scope.Sees(t.Owner) && (q.Tenant == "" || q.Tenant == t.Owner.Tenant) && (q.SessionID == "" || q.SessionID == t.SessionID) && (q.AgentID == "" || q.AgentID == t.AgentID) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, t.Status)) && !t.ChangedAt.Before(truncateTime(q.ChangedAfter))
}

// UpdateTurn applies a patch to a turn.
func (m *Store) UpdateTurn(ctx context.Context, scope store.Scope, id string, p store.TurnPatch) (changed *store.Turn, err error) {
	err = m.withLock(ctx, func() error {
		t, err := m.findTurn(scope, id)
		if err != nil {
			return err
		}
		if p.Background != nil {
			t.Background = *p.Background
			t.UpdatedAt = truncateTime(p.Now)
		}
		changed = copyTurn(&t.Turn)
		return nil
	})
	return changed, err
}

// EndTurn ends a live turn from outside.
func (m *Store) EndTurn(ctx context.Context, e *store.EndTurn) (ended *store.Turn, err error) {
	if err := e.CheckText(); err != nil {
		return nil, err
	}
	err = m.withJobs(ctx, func(jobs *jobs) error {
		t, err := m.findTurn(e.Scope, e.TurnID)
		if err != nil {
			return err
		}
		if t.Status.Live() {
			t.appendEvent(&e.Event)
			t.Fence++
			m.endTurn(t, e.Status, e.Result, e.Agents, truncateTime(e.Now), jobs)
		}
		ended = copyTurn(&t.Turn)
		return nil
	})
	return ended, err
}

func copyTurn(t *store.Turn) *store.Turn {
	c := *t
	c.Request, c.Result, c.Metadata = bytes.Clone(t.Request), bytes.Clone(t.Result), bytes.Clone(t.Metadata)
	return &c
}
