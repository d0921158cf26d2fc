package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// Commit appends to a turn, and changes its state.
func (m *Store) Commit(ctx context.Context, c *store.Commit) error {
	if err := c.CheckText(); err != nil {
		return err
	}
	return m.withJobs(ctx, func(jobs *jobs) error {
		t, ok := m.live[c.TurnID]
		if !ok || t.Status != store.Running || t.Fence != c.Fence {
			return &store.FencedError{TurnID: c.TurnID, Fence: c.Fence}
		}
		for i := range c.Events {
			if want := t.Seq + uint64(i) + 1; c.Events[i].Seq != want {
				return fmt.Errorf("event %d of turn %s comes where event %d should", c.Events[i].Seq, t.ID, want)
			}
		}
		now := truncateTime(c.Now)
		m.addRecords(t, c, now)
		switch {
		case c.Finish != nil:
			t.Steps = max(t.Steps, c.Steps)
			m.finishTurn(t, c.Finish, now, jobs)
		case c.Suspend != nil:
			m.suspendTurn(t, c.Suspend, now, jobs)
		case c.Yield:
			t.goOn(now, jobs)
			(*jobs)[len(*jobs)-1].NotBefore = truncateTime(c.Due)
		}
		return nil
	})
}

// addRecords adds the records of a commit to a turn.
func (m *Store) addRecords(t *turn, c *store.Commit, now time.Time) {
	for i := range c.Events {
		t.appendEvent(&c.Events[i])
	}
	if c.State != nil {
		t.state, t.Strikes, t.Steps = bytes.Clone(c.State), 0, c.Steps
	}
	m.messages[t.ID] = append(m.messages[t.ID], copyList(c.Messages)...)
	for _, row := range copyJournal(c.Journal) {
		if i := slices.IndexFunc(t.journal, func(known store.JournalRow) bool { return known.Key == row.Key }); i >= 0 {
			t.journal[i] = row
		} else {
			t.journal = append(t.journal, row)
		}
	}
	for _, i := range c.Asked {
		if t.interactionByID(i.ID) == nil {
			asked := copyInteraction(i)
			asked.TurnID, asked.SessionID, asked.Owner, asked.State = t.ID, t.SessionID, t.Owner, store.InteractionPending
			t.interactions = append(t.interactions, asked)
		}
	}
	for _, a := range c.Artifacts {
		added := copyArtifact(a)
		added.SessionID, added.TurnID, added.Owner = t.SessionID, t.ID, t.Owner
		m.artifacts[a.ID] = added
		t.artifacts = append(t.artifacts, a.ID)
	}
	t.UpdatedAt = now
}

// appendEvent adds an event after the latest one.
func (t *turn) appendEvent(ev *event.Record) {
	t.Seq++
	added := copyEvent(ev)
	added.Seq, added.TurnID, added.SessionID = t.Seq, t.ID, t.SessionID
	t.events = append(t.events, added)
}

// releaseWorker takes a turn from its worker.
func (t *turn) releaseWorker() { t.Worker, t.LeaseUntil = "", time.Time{} }

// goOn hands a running turn back to be claimed again. The turn keeps its tenant's room.
func (t *turn) goOn(now time.Time, jobs *jobs) {
	t.setStatus(store.Pending, now)
	t.releaseWorker()
	*jobs = append(*jobs, store.Job{TurnID: t.ID})
}

// suspendTurn makes a turn wait, unless one of its interactions has an answer.
func (m *Store) suspendTurn(t *turn, s *store.Suspend, now time.Time, jobs *jobs) {
	if slices.ContainsFunc(t.interactions, func(i *store.Interaction) bool {
		return slices.Contains(s.Open, i.ID) && i.State != store.InteractionPending
	}) {
		t.goOn(now, jobs)
		return
	}
	t.setStatus(store.Waiting, now)
	t.Admitted = false
	t.releaseWorker()
	m.makeRoom(t, now, jobs)
}

// finishTurn ends a turn by its worker.
func (m *Store) finishTurn(t *turn, f *store.Finish, now time.Time, jobs *jobs) {
	if f.Snapshot != nil {
		last := copySnapshot(f.Snapshot)
		last.SessionID, last.TurnID, last.Owner = t.SessionID, t.ID, t.Owner
		m.snapshots[last.ID] = last
		s := m.sessions[t.SessionID]
		s.Tip, s.CurrentAgentID = last.ID, last.CurrentAgentID
	}
	m.endTurn(t, f.Status, f.Result, f.Agents, now, jobs)
}

// endTurn puts a turn into its final state and admits the turns that now have room.
func (m *Store) endTurn(t *turn, status store.Status, result []byte, agents event.AgentUsages, now time.Time, jobs *jobs) {
	t.setStatus(status, now)
	t.Result, t.FinishedAt = bytes.Clone(result), now
	t.Admitted, t.state = false, nil
	t.releaseWorker()
	for _, i := range t.interactions {
		if i.State == store.InteractionPending {
			i.State, i.AnsweredAt = store.InteractionCanceled, now
		}
	}
	s := m.sessions[t.SessionID]
	s.ActiveAt = laterOf(s.ActiveAt, now)
	s.live = slices.DeleteFunc(s.live, func(live *turn) bool { return live == t })
	delete(m.live, t.ID)
	m.usage.AddTurn(&rules.EndedTurn{Tenant: t.Owner.Tenant, AgentID: t.AgentID, Status: status, StartedAt: t.StartedAt, EndedAt: now, Agents: agents})
	m.makeRoom(t, now, jobs)
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
