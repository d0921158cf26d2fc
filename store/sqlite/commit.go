package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// Commit appends to a turn, and changes its state.
func (s *Store) Commit(ctx context.Context, c *store.Commit) error {
	if err := c.CheckText(); err != nil {
		return err
	}
	return wrapError("commit to turn", c.TurnID, s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		if hasOnlyEvents(c) {
			return appendEvents(ctx, tx, c)
		}
		return s.applyCommit(ctx, tx, c)
	}))
}

// hasOnlyEvents reports whether a commit consists only of events, as most do.
func hasOnlyEvents(c *store.Commit) bool {
	return len(c.Events) > 0 && c.State == nil && len(c.Messages) == 0 && len(c.Journal) == 0 && len(c.Artifacts) == 0 && len(c.Asked) == 0 &&
		c.Suspend == nil && !c.Yield && c.Finish == nil
}

// appendEvents writes a commit that has only events. One statement checks and updates the turn.
func appendEvents(ctx context.Context, tx *tx, c *store.Commit) error {
	before, err := seqBefore(c.Events)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "UPDATE turns SET seq = ?, updated_at = ? WHERE id = ? AND fence = ? AND status = 'running' AND seq = ?",
		before+int64(len(c.Events)), sqlstore.ToMicros(c.Now), c.TurnID, c.Fence, before)
	if err != nil {
		return err
	}
	if n == 0 {
		return refusalOf(ctx, tx, c)
	}
	return insertEvents(ctx, tx, c.TurnID, c.Events)
}

// refusalOf returns why a commit was rejected.
func refusalOf(ctx context.Context, tx *tx, c *store.Commit) error {
	row, err := ownedTurn(ctx, tx, c)
	if err != nil {
		return err
	}
	return checkSeqs(c.Events, row.seq)
}

// changingTurn has the properties of a turn needed to change it. Pending interactions and other
// live turns of the session, its agent and its start are known only if the turn ends.
type changingTurn struct {
	turnPlace
	made                       int64
	status                     store.Status
	fence, seq, steps, strikes int64
	admitted                   bool
	asks, followed             bool
	agentID                    string
	startedAt                  int64
}

func (t *changingTurn) fields() []any {
	return append(make([]any, 0, 16),
		&t.made, &t.sessionID, &t.owner.Tenant, &t.owner.Subject, (*string)(&t.status), &t.fence, &t.seq, &t.steps, &t.strikes, &t.messages, &t.admitted)
}

func (t *changingTurn) endingFields() []any {
	return append(t.fields(), &t.agentID, &t.startedAt, &t.asks, &t.followed)
}

const (
	changingColumns = "SELECT made, session_id, tenant, subject, status, fence, seq, steps, strikes, messages, admitted"
	selectChanging  = changingColumns + " FROM turns WHERE id = ?"
	selectEnding    = changingColumns + `, agent_id, started_at, EXISTS (SELECT 1 FROM interactions i WHERE i.turn_id = turns.id AND i.state = 'pending'),
		EXISTS (SELECT 1 FROM turns o WHERE o.session_id = turns.session_id AND o.finished_at = 0 AND o.made <> turns.made)
		FROM turns WHERE turns.id = ?`
)

// findChanging returns a turn. The error is store.ErrNotFound.
func findChanging(ctx context.Context, tx *tx, id string) (*changingTurn, error) {
	return sqlstore.FindRow(ctx, tx, (*changingTurn).fields, selectChanging, id)
}

// ownedTurn returns the turn of a commit if the worker owns it.
func ownedTurn(ctx context.Context, tx *tx, c *store.Commit) (*changingTurn, error) {
	t, err := findChanging(ctx, tx, c.TurnID)
	return t, checkOwned(c, t, err)
}

// checkOwned returns why the commit's worker does not own a turn. err is the error of reading the
// turn.
func checkOwned(c *store.Commit, t *changingTurn, err error) error {
	if errors.Is(err, store.ErrNotFound) || err == nil && (t.status != store.Running || t.fence != c.Fence) {
		return &store.FencedError{TurnID: c.TurnID, Fence: c.Fence}
	}
	return err
}

// checkSeqs reports events that do not follow a seq without gaps.
func checkSeqs(events []event.Record, before int64) error {
	for i := range events {
		if want := before + int64(i) + 1; int64(events[i].Seq) != want {
			return fmt.Errorf("event %d comes where event %d should", events[i].Seq, want)
		}
	}
	return nil
}

func (s *Store) applyCommit(ctx context.Context, tx *tx, c *store.Commit) error {
	switch {
	case c.Finish != nil:
		return s.finishTurn(ctx, tx, c)
	case c.Suspend != nil, c.Yield:
		return s.leaveTurn(ctx, tx, c)
	default:
		return advanceTurn(ctx, tx, c)
	}
}

// advanceTurn writes a commit after which the worker continues.
func advanceTurn(ctx context.Context, tx *tx, c *store.Commit) error {
	row, err := ownedTurn(ctx, tx, c)
	if err != nil {
		return err
	}
	if err := checkSeqs(c.Events, row.seq); err != nil {
		return err
	}
	countCommit(row, c)
	// The statement returns no row: RETURNING makes SQLite fill a temporary table and save the
	// pages that the statement changes.
	_, err = tx.Exec(ctx, "UPDATE turns SET seq = ?, steps = ?, strikes = ?, messages = ?, updated_at = ? WHERE made = ?",
		row.seq, row.steps, row.strikes, row.messages, sqlstore.ToMicros(c.Now), row.made)
	if err != nil {
		return err
	}
	return addRecords(ctx, tx, c, &row.turnPlace)
}

// countCommit adds the records of a commit to the turn's counts.
func countCommit(t *changingTurn, c *store.Commit) {
	t.seq += int64(len(c.Events))
	t.messages += int64(len(c.Messages))
	if c.State != nil {
		t.steps, t.strikes = int64(c.Steps), 0
	}
}

// leaveTurn writes a commit with which the worker leaves the turn before its end.
func (s *Store) leaveTurn(ctx context.Context, tx *tx, c *store.Commit) error {
	row, err := ownedTurn(ctx, tx, c)
	if err != nil {
		return err
	}
	if err := checkSeqs(c.Events, row.seq); err != nil {
		return err
	}
	countCommit(row, c)
	if err := addRecords(ctx, tx, c, &row.turnPlace); err != nil {
		return err
	}
	if c.Suspend != nil {
		return s.suspendTurn(ctx, tx, c, row)
	}
	if err := s.releaseTurn(ctx, tx, row, c.TurnID, store.Pending, c.Now); err != nil {
		return err
	}
	tx.jobs[len(tx.jobs)-1].NotBefore = c.Due
	return nil
}

// seqBefore returns the seq before the first event; 0 if absent.
func seqBefore(events []event.Record) (int64, error) {
	if len(events) == 0 {
		return 0, nil
	}
	before := int64(events[0].Seq) - 1
	return before, checkSeqs(events, before)
}

// turnPlace has the properties of a turn that its records need.
type turnPlace struct {
	sessionID string
	owner     store.Owner
	messages  int64 // including the commit's
}

// addRecords writes the records of a commit.
func addRecords(ctx context.Context, tx *tx, c *store.Commit, t *turnPlace) error {
	if err := insertEvents(ctx, tx, c.TurnID, c.Events); err != nil {
		return err
	}
	if c.State != nil && c.Finish == nil {
		_, err := tx.Exec(ctx, "INSERT INTO turn_states (turn_id, body) VALUES (?, ?) ON CONFLICT (turn_id) DO UPDATE SET body = excluded.body", c.TurnID, c.State)
		if err != nil {
			return err
		}
	}
	if err := insertMessages(ctx, tx, c.TurnID, t.messages-int64(len(c.Messages)), c.Messages); err != nil {
		return err
	}
	for _, call := range c.Journal {
		_, err := tx.Exec(ctx, `INSERT INTO journal (turn_id, key, entry, result) VALUES (?, ?, ?, ?)
			ON CONFLICT (turn_id, key) DO UPDATE SET entry = excluded.entry, result = excluded.result`, c.TurnID, call.Key, []byte(call.Entry), []byte(call.Result))
		if err != nil {
			return err
		}
	}
	for _, i := range c.Asked {
		_, err := tx.Exec(ctx, `INSERT INTO interactions (turn_id, id, session_id, tenant, subject, state, action, request, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?) ON CONFLICT (turn_id, id) DO NOTHING`,
			c.TurnID, i.ID, t.sessionID, t.owner.Tenant, t.owner.Subject, i.Action, []byte(i.Request), sqlstore.ToMicros(i.CreatedAt), sqlstore.ToMicros(i.ExpiresAt))
		if err != nil {
			return err
		}
	}
	return insertArtifacts(ctx, tx, c.Artifacts, t.sessionID, c.TurnID, t.owner)
}

// finishTurn writes a commit that ends the turn.
func (s *Store) finishTurn(ctx context.Context, tx *tx, c *store.Commit) error {
	row, err := sqlstore.FindRow(ctx, tx, (*changingTurn).endingFields, selectEnding, c.TurnID)
	if err := checkOwned(c, row, err); err != nil {
		return err
	}
	if err := checkSeqs(c.Events, row.seq); err != nil {
		return err
	}
	row.seq += int64(len(c.Events))
	row.messages += int64(len(c.Messages))
	if row.steps = max(row.steps, int64(c.Steps)); c.State != nil {
		row.steps = int64(c.Steps)
	}
	if err := writeEnd(ctx, tx, row, c.Finish.Status, c.Finish.Result, c.Now); err != nil {
		return err
	}
	if err := addRecords(ctx, tx, c, &row.turnPlace); err != nil {
		return err
	}
	row.asks = row.asks || len(c.Asked) > 0
	if err := s.settleEnd(ctx, tx, c.TurnID, row, c.Finish.Snapshot, c.Now); err != nil {
		return err
	}
	return s.AddUsage(ctx, tx, &rules.EndedTurn{
		Tenant: row.owner.Tenant, AgentID: row.agentID, Status: c.Finish.Status, StartedAt: sqlstore.FromMicros(row.startedAt), EndedAt: c.Now, Agents: c.Finish.Agents,
	})
}

// suspendTurn makes a turn wait, unless one of its interactions has an answer.
func (s *Store) suspendTurn(ctx context.Context, tx *tx, c *store.Commit, row *changingTurn) error {
	for _, id := range c.Suspend.Open {
		state, err := sqlstore.FindValue[string](ctx, tx, "SELECT state FROM interactions WHERE turn_id = ? AND id = ?", c.TurnID, id)
		if err != nil {
			return err
		}
		if state != "" && state != string(store.InteractionPending) {
			return s.releaseTurn(ctx, tx, row, c.TurnID, store.Pending, c.Now)
		}
	}
	return s.releaseTurn(ctx, tx, row, c.TurnID, store.Waiting, c.Now)
}

// releaseTurn takes a turn from its worker. A turn that becomes pending keeps its room; a turn that
// waits frees its room for other turns of its tenant.
func (s *Store) releaseTurn(ctx context.Context, tx *tx, row *changingTurn, turnID string, status store.Status, now time.Time) error {
	row.admitted = status == store.Pending
	_, err := tx.Exec(ctx, `UPDATE turns SET status = ?1, admitted = ?2, seq = ?3, steps = ?4, strikes = ?5, messages = ?6,
		worker = '', lease_until = 0, updated_at = ?7, changed_at = ?7 WHERE made = ?8`,
		string(status), row.admitted, row.seq, row.steps, row.strikes, row.messages, sqlstore.ToMicros(now), row.made)
	if err != nil {
		return err
	}
	if row.admitted {
		tx.jobs = append(tx.jobs, store.Job{TurnID: turnID})
		return nil
	}
	return s.makeRoom(ctx, tx, row.owner.Tenant, row.sessionID, now)
}
