package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
)

// group is the combined effect of the commits in one transaction. They are folded in order into the
// rows of their turns and into lists of new rows.
type group struct {
	store   *Store
	commits []*pending
	// refused holds, per commit, the error that rejects it; nil for the others.
	refused []error
	// token is stored in the rows that the transaction changes.
	token string

	turns     map[string]*turnChange
	events    events
	messages  messages
	journal   journal
	artifacts []db.InsertArtifactParams
	snapshots snapshots
	asked     []db.InsertInteractionParams
	jobs      []store.Job
	// now is the latest time among the commits.
	now time.Time
}

// turnChange is the locked row of a turn with the changes of the commits so far.
type turnChange struct {
	db.LockTurnsRow
	changed bool
	at      time.Time
	state   []byte
	finish  *store.Finish
	// answered are the ids of the interactions that are no longer pending.
	answered []string
}

// newGroup returns a group of commits, some of which are already rejected.
func newGroup(s *Store, commits []*pending, refused []error) *group {
	return &group{store: s, commits: commits, refused: slices.Clone(refused), token: rand.Text(), turns: make(map[string]*turnChange, len(commits))}
}

func (t *turnChange) owner() store.Owner { return store.Owner{Tenant: t.Tenant, Subject: t.Subject} }

// foldCommit adds a commit, or returns why it is rejected.
func (g *group) foldCommit(c *pending) error {
	t := g.turns[c.TurnID]
	if t == nil || t.Status != string(store.Running) || t.Fence != c.Fence {
		return &store.FencedError{TurnID: c.TurnID, Fence: c.Fence}
	}
	for i := range c.Events {
		if want := uint64(t.Seq) + uint64(i) + 1; c.Events[i].Seq != want {
			return gapError(want, c.Events[i].Seq)
		}
	}
	t.changed, t.at = true, c.Now
	if c.Now.After(g.now) {
		g.now = c.Now
	}
	g.addRecords(t, c)
	switch {
	case c.Finish != nil:
		g.finishTurn(t, c)
	case c.Suspend != nil:
		g.suspendTurn(t, c)
	case c.Yield:
		// The turn keeps its tenant's room because it continues immediately.
		t.Status = string(store.Pending)
		g.jobs = append(g.jobs, store.Job{TurnID: t.ID, NotBefore: c.Due})
	}
	return nil
}

// addRecords adds the records of a commit.
func (g *group) addRecords(t *turnChange, c *pending) {
	for i := range c.Events {
		t.Seq++
		g.events.addEvent(t.ID, c.Events[i].SessionID, t.Seq, &c.Events[i])
	}
	if c.State != nil {
		t.state, t.Steps, t.Strikes = c.State, c.Steps, 0
	}
	g.messages.addBodies(t.ID, t.Messages, c.Messages)
	t.Messages += len(c.Messages)
	for i := range c.Journal {
		g.journal.addRow(t.ID, &c.Journal[i])
	}
	for _, a := range c.Artifacts {
		g.artifacts = append(g.artifacts, rowOfArtifact(a, t.SessionID, t.ID, t.owner()))
	}
	for _, i := range c.Asked {
		g.asked = append(g.asked, db.InsertInteractionParams{
			TurnID: t.ID, ID: i.ID, SessionID: t.SessionID, Tenant: t.Tenant, Subject: t.Subject, Action: i.Action,
			Request: i.Request, CreatedAt: instant.Time(i.CreatedAt), ExpiresAt: instant.Time(i.ExpiresAt),
		})
	}
}

func (g *group) finishTurn(t *turnChange, c *pending) {
	t.Status, t.Admitted, t.finish = string(c.Finish.Status), false, c.Finish
	t.Steps, t.state = max(t.Steps, c.Steps), nil
	if c.Finish.Snapshot != nil {
		g.snapshots.addRow(c.Finish.Snapshot, t)
	}
}

func (g *group) suspendTurn(t *turnChange, c *pending) {
	if slices.ContainsFunc(c.Suspend.Open, func(id string) bool { return slices.Contains(t.answered, id) }) {
		t.Status = string(store.Pending)
		g.jobs = append(g.jobs, store.Job{TurnID: t.ID})
		return
	}
	t.Status, t.Admitted = string(store.Waiting), false
}

// journal collects the columns of tool calls, each key of a turn once.
type journal struct {
	db.WriteJournalParams
	place map[[2]string]int
}

func (j *journal) addRow(turnID string, r *store.JournalRow) {
	key := [2]string{turnID, r.Key}
	if i, ok := j.place[key]; ok {
		j.Entries[i], j.Results[i] = r.Entry, r.Result
		return
	}
	if j.place == nil {
		j.place = make(map[[2]string]int)
	}
	j.place[key] = len(j.Keys)
	j.TurnIds, j.Keys = append(j.TurnIds, turnID), append(j.Keys, r.Key)
	j.Entries, j.Results = append(j.Entries, r.Entry), append(j.Results, r.Result)
}

// snapshots collects the columns of the snapshots of turns.
type snapshots struct{ db.InsertSnapshotsParams }

func (l *snapshots) addRow(s *store.Snapshot, t *turnChange) {
	l.Ids, l.SessionIds, l.TurnIds = append(l.Ids, s.ID), append(l.SessionIds, t.SessionID), append(l.TurnIds, t.ID)
	l.Tenants, l.Subjects = append(l.Tenants, t.Tenant), append(l.Subjects, t.Subject)
	l.ParentIds, l.FinishReasons = append(l.ParentIds, s.ParentID), append(l.FinishReasons, s.FinishReason)
	l.Customs, l.States, l.Artifacts = append(l.Customs, s.Custom), append(l.States, s.State), append(l.Artifacts, s.Artifacts)
	l.CreatedAts = append(l.CreatedAts, instant.Time(s.CreatedAt))
	l.AgentIds, l.CurrentAgentIds = append(l.AgentIds, s.AgentID), append(l.CurrentAgentIds, s.CurrentAgentID)
}

// queueStatements queues the statements of a group, each for all of its commits.
func (g *group) queueStatements(ctx context.Context, p *pipeline, found *[]string) error {
	var (
		turns  db.WriteTurnsParams
		states db.WriteStatesParams
		errs   []error
	)
	q := p.queuedQueries()
	changed := g.sortedChanges()
	for _, t := range changed {
		turns.Ids, turns.Statuses = append(turns.Ids, t.ID), append(turns.Statuses, t.Status)
		turns.Seqs, turns.Steps = append(turns.Seqs, t.Seq), append(turns.Steps, t.Steps)
		turns.Strikes, turns.Messages = append(turns.Strikes, t.Strikes), append(turns.Messages, t.Messages)
		turns.Admitted, turns.Ats = append(turns.Admitted, t.Admitted), append(turns.Ats, instant.Time(t.at))
		var result []byte
		if t.finish != nil {
			result = t.finish.Result
		}
		turns.Ended, turns.Results = append(turns.Ended, t.finish != nil), append(turns.Results, result)
		if t.state != nil {
			states.TurnIds, states.Bodies = append(states.TurnIds, t.ID), append(states.Bodies, t.state)
		}
	}
	turns.Token = g.token
	if len(turns.Ids) > 0 {
		errs = append(errs, q.WriteTurns(ctx, turns))
	}
	if len(g.events.Seqs) > 0 {
		errs = append(errs, q.InsertEvents(ctx, g.events.InsertEventsParams))
	}
	if len(g.messages.Ns) > 0 {
		errs = append(errs, q.InsertMessages(ctx, g.messages.InsertMessagesParams))
	}
	if len(g.journal.Keys) > 0 {
		errs = append(errs, q.WriteJournal(ctx, g.journal.WriteJournalParams))
	}
	if len(states.TurnIds) > 0 {
		errs = append(errs, q.WriteStates(ctx, states))
	}
	for i := range g.artifacts {
		errs = append(errs, q.InsertArtifact(ctx, g.artifacts[i]))
	}
	for i := range g.asked {
		errs = append(errs, q.InsertInteraction(ctx, g.asked[i]))
	}
	errs = append(errs, g.queueEnds(ctx, q, changed))
	g.queueAdmission(p, changed, found)
	return errors.Join(append(errs, g.queueUsage(ctx, q, changed))...)
}

// queueEnds queues the consequences of ended turns.
func (g *group) queueEnds(ctx context.Context, q *db.Queries, changed []*turnChange) error {
	var (
		ended    []string
		sessions db.EndedInSessionsParams
		errs     []error
	)
	for _, t := range changed {
		if t.finish == nil {
			continue
		}
		tip, current := "", ""
		if s := t.finish.Snapshot; s != nil {
			tip, current = s.ID, s.CurrentAgentID
		}
		ended = append(ended, t.ID)
		sessions.Ids, sessions.Tips = append(sessions.Ids, t.SessionID), append(sessions.Tips, tip)
		sessions.CurrentAgentIds, sessions.Ats = append(sessions.CurrentAgentIds, current), append(sessions.Ats, instant.Time(t.at))
	}
	if len(ended) == 0 {
		return nil
	}
	if len(g.snapshots.Ids) > 0 {
		errs = append(errs, q.InsertSnapshots(ctx, g.snapshots.InsertSnapshotsParams))
	}
	errs = append(errs,
		q.CancelInteractions(ctx, ended),
		q.DeleteStates(ctx, ended),
		q.EndedInSessions(ctx, sessions),
	)
	return errors.Join(errs...)
}

// queueAdmission queues the admission of turns into the room that departing turns free.
func (g *group) queueAdmission(p *pipeline, changed []*turnChange, found *[]string) {
	var tenants, sessions []string
	for _, t := range changed {
		if t.finish != nil || t.Status == string(store.Waiting) {
			tenants = append(tenants, t.Tenant)
		}
		if t.finish != nil {
			sessions = append(sessions, t.SessionID)
		}
	}
	g.store.queueAdmission(p, sortedDistinct(tenants), sessions, g.now, found)
}

// sortedChanges returns the changed turns, sorted by id.
func (g *group) sortedChanges() []*turnChange {
	var list []*turnChange
	for _, t := range g.turns {
		if t.changed {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *turnChange) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
