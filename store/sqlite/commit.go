package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
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

// hasOnlyEvents reports whether a commit consists of events alone, as most do.
func hasOnlyEvents(c *store.Commit) bool {
	return len(c.Events) > 0 && c.State == nil && len(c.Messages) == 0 && len(c.Journal) == 0 && len(c.Artifacts) == 0 && len(c.Asked) == 0 &&
		c.Suspend == nil && !c.Yield && c.Finish == nil
}

// appendEvents makes a plain commit: it checks and writes with one statement.
func appendEvents(ctx context.Context, tx *tx, c *store.Commit) error {
	before, err := seqBefore(c.Events)
	if err != nil {
		return err
	}
	n, err := tx.AppendTurn(ctx, db.AppendTurnParams{
		Seq: before + int64(len(c.Events)), At: sqlstore.ToMicros(c.Now), ID: c.TurnID, Fence: c.Fence, Before: before,
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return refusalOf(ctx, tx, c)
	}
	return insertEvents(ctx, tx, c.TurnID, c.Events)
}

// refusalOf says why a commit was refused.
func refusalOf(ctx context.Context, tx *tx, c *store.Commit) error {
	row, err := ownedTurn(ctx, tx, c)
	if err != nil {
		return err
	}
	return checkSeqs(c.Events, row.Seq)
}

// ownedTurn returns the turn of a commit if it is the worker's.
func ownedTurn(ctx context.Context, tx *tx, c *store.Commit) (*db.OwnedTurnRow, error) {
	row, err := tx.OwnedTurn(ctx, c.TurnID)
	return &row, checkOwned(c, err, row.Status, row.Fence)
}

// checkOwned returns why a turn, which was read with an error or without, is not that of
// the commit's worker.
func checkOwned(c *store.Commit, err error, status string, fence int64) error {
	if errors.Is(err, sql.ErrNoRows) || err == nil && (status != string(store.Running) || fence != c.Fence) {
		return &store.FencedError{TurnID: c.TurnID, Fence: c.Fence}
	}
	return err
}

// checkSeqs reports events that do not follow on a seq without a gap.
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

// advanceTurn makes a commit after which the worker goes on.
func advanceTurn(ctx context.Context, tx *tx, c *store.Commit) error {
	row, err := ownedTurn(ctx, tx, c)
	if err != nil {
		return err
	}
	if err := checkSeqs(c.Events, row.Seq); err != nil {
		return err
	}
	place := countCommit(row, c)
	err = tx.AdvanceTurn(ctx, db.AdvanceTurnParams{
		Seq: row.Seq, Steps: row.Steps, Strikes: row.Strikes, Messages: row.Messages, At: sqlstore.ToMicros(c.Now), Made: row.Made,
	})
	if err != nil {
		return err
	}
	return addRecords(ctx, tx, c, &place)
}

// countCommit adds what a commit has to the counts of its turn.
func countCommit(row *db.OwnedTurnRow, c *store.Commit) turnPlace {
	row.Seq += int64(len(c.Events))
	row.Messages += int64(len(c.Messages))
	if c.State != nil {
		row.Steps, row.Strikes = int64(c.Steps), 0
	}
	return placeOf(row.SessionID, row.Tenant, row.Subject, row.Messages)
}

// leaveTurn makes a commit with which the worker leaves the turn before its end.
func (s *Store) leaveTurn(ctx context.Context, tx *tx, c *store.Commit) error {
	row, err := ownedTurn(ctx, tx, c)
	if err != nil {
		return err
	}
	if err := checkSeqs(c.Events, row.Seq); err != nil {
		return err
	}
	place := countCommit(row, c)
	if err := addRecords(ctx, tx, c, &place); err != nil {
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

// seqBefore returns the seq on which events follow, 0 for no events.
func seqBefore(events []event.Record) (int64, error) {
	if len(events) == 0 {
		return 0, nil
	}
	before := int64(events[0].Seq) - 1
	return before, checkSeqs(events, before)
}

// turnPlace is what the records of a turn need to know of it.
type turnPlace struct {
	sessionID string
	owner     store.Owner
	messages  int64 // with those of the commit
}

func placeOf(sessionID, tenant, subject string, messages int64) turnPlace {
	return turnPlace{sessionID: sessionID, owner: store.Owner{Tenant: tenant, Subject: subject}, messages: messages}
}

// addRecords writes what a commit adds to a turn.
func addRecords(ctx context.Context, tx *tx, c *store.Commit, t *turnPlace) error {
	if err := insertEvents(ctx, tx, c.TurnID, c.Events); err != nil {
		return err
	}
	if c.State != nil && c.Finish == nil {
		if err := tx.WriteState(ctx, db.WriteStateParams{TurnID: c.TurnID, Body: c.State}); err != nil {
			return err
		}
	}
	if err := insertMessages(ctx, tx, c.TurnID, t.messages-int64(len(c.Messages)), c.Messages); err != nil {
		return err
	}
	for _, call := range c.Journal {
		if err := tx.WriteJournal(ctx, db.WriteJournalParams{TurnID: c.TurnID, Key: call.Key, Entry: call.Entry, Result: call.Result}); err != nil {
			return err
		}
	}
	for _, i := range c.Asked {
		err := tx.InsertInteraction(ctx, db.InsertInteractionParams{
			TurnID: c.TurnID, ID: i.ID, SessionID: t.sessionID, Tenant: t.owner.Tenant, Subject: t.owner.Subject,
			Action: i.Action, Request: i.Request, CreatedAt: sqlstore.ToMicros(i.CreatedAt), ExpiresAt: sqlstore.ToMicros(i.ExpiresAt),
		})
		if err != nil {
			return err
		}
	}
	return insertArtifacts(ctx, tx, c.Artifacts, t.sessionID, c.TurnID, t.owner)
}

// finishTurn makes a commit that ends the turn.
func (s *Store) finishTurn(ctx context.Context, tx *tx, c *store.Commit) error {
	row, err := tx.TurnToFinish(ctx, c.TurnID)
	if err := checkOwned(c, err, row.Status, row.Fence); err != nil {
		return err
	}
	if err := checkSeqs(c.Events, row.Seq); err != nil {
		return err
	}
	steps := max(row.Steps, int64(c.Steps))
	if c.State != nil {
		steps = int64(c.Steps)
	}
	place := placeOf(row.SessionID, row.Tenant, row.Subject, row.Messages+int64(len(c.Messages)))
	err = tx.EndTurn(ctx, db.EndTurnParams{
		Status: string(c.Finish.Status), Result: c.Finish.Result, Seq: row.Seq + int64(len(c.Events)), Fence: row.Fence, Steps: steps,
		Messages: place.messages, At: sqlstore.ToMicros(c.Now), Made: row.Made,
	})
	if err != nil {
		return err
	}
	if err := addRecords(ctx, tx, c, &place); err != nil {
		return err
	}
	return s.settleEnd(ctx, tx, &endedTurn{
		id: c.TurnID, turnPlace: place, snapshot: c.Finish.Snapshot, asks: row.Asks || len(c.Asked) > 0, followed: row.Followed, at: c.Now,
	})
}

// suspendTurn makes a turn wait, unless one of its interactions has an answer.
func (s *Store) suspendTurn(ctx context.Context, tx *tx, c *store.Commit, row *db.OwnedTurnRow) error {
	for _, id := range c.Suspend.Open {
		state, err := tx.InteractionState(ctx, db.InteractionStateParams{TurnID: c.TurnID, ID: id})
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil && state != string(store.InteractionPending) {
			return s.releaseTurn(ctx, tx, row, c.TurnID, store.Pending, c.Now)
		}
	}
	return s.releaseTurn(ctx, tx, row, c.TurnID, store.Waiting, c.Now)
}

// releaseTurn takes a turn from its worker. One that is pending again keeps its room,
// and one that waits leaves it to the other turns of its tenant.
func (s *Store) releaseTurn(ctx context.Context, tx *tx, row *db.OwnedTurnRow, turnID string, status store.Status, now time.Time) error {
	row.Admitted = status == store.Pending
	err := tx.LeaveTurn(ctx, db.LeaveTurnParams{
		Status: string(status), Admitted: row.Admitted, Seq: row.Seq, Steps: row.Steps, Strikes: row.Strikes, Messages: row.Messages,
		At: sqlstore.ToMicros(now), Made: row.Made,
	})
	if err != nil {
		return err
	}
	if row.Admitted {
		tx.jobs = append(tx.jobs, store.Job{TurnID: turnID})
		return nil
	}
	return s.makeRoom(ctx, tx, row.Tenant, row.SessionID, now)
}
