package sqlite

import (
	"bytes"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// EndTurn ends a live turn from outside.
func (s *Store) EndTurn(ctx context.Context, e *store.EndTurn) (ended *store.Turn, err error) {
	if err := e.CheckText(); err != nil {
		return nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		row, err := getTurn(ctx, tx.Queries, e.Scope, e.TurnID)
		if err != nil {
			return err
		}
		ended = turnOf(row)
		if !ended.Status.Live() {
			return nil
		}
		ended.Seq++
		ended.Fence++
		last := e.Event
		last.Seq = ended.Seq
		if err := insertEvents(ctx, tx, ended.ID, []event.Record{last}); err != nil {
			return err
		}
		return s.endTurn(ctx, tx, row, ended, e)
	})
	if err != nil {
		return nil, wrapError("end turn", e.TurnID, err)
	}
	return ended, nil
}

// endTurn puts a turn into its last state, and admits what that makes room for.
func (s *Store) endTurn(ctx context.Context, tx *tx, row *db.Turn, t *store.Turn, e *store.EndTurn) error {
	at := sqlstore.Truncate(e.Now)
	t.Status, t.Result, t.FinishedAt, t.UpdatedAt, t.ChangedAt = e.Status, bytes.Clone(e.Result), at, at, at
	t.Worker, t.LeaseUntil, t.Admitted = "", time.Time{}, false
	err := tx.EndTurn(ctx, db.EndTurnParams{
		Status: string(e.Status), Result: e.Result, Seq: int64(t.Seq), Fence: t.Fence, Steps: int64(t.Steps), Messages: row.Messages, At: sqlstore.ToMicros(e.Now), Made: row.Made,
	})
	if err != nil {
		return err
	}
	place := turnPlace{sessionID: t.SessionID, owner: t.Owner, messages: row.Messages}
	return s.settleEnd(ctx, tx, &endedTurn{id: t.ID, turnPlace: place, asks: true, followed: true, at: e.Now})
}

// endedTurn is a turn that has ended in its row.
type endedTurn struct {
	turnPlace
	id string
	at time.Time
	// snapshot becomes the tip of the session; nil for none.
	snapshot *store.Snapshot
	// It may have asked for what was not answered, and other turns may follow it.
	asks, followed bool
}

// settleEnd does what the end of a turn entails, and admits what that makes room for.
func (s *Store) settleEnd(ctx context.Context, tx *tx, t *endedTurn) error {
	if err := tx.DeleteState(ctx, t.id); err != nil {
		return err
	}
	if t.asks {
		if err := tx.CancelInteractions(ctx, db.CancelInteractionsParams{ResolvedAt: sqlstore.ToMicros(t.at), TurnID: t.id}); err != nil {
			return err
		}
	}
	if err := moveTip(ctx, tx, t); err != nil {
		return err
	}
	if !t.followed && s.tenantTurns <= 0 {
		return nil // nobody waits for its room
	}
	return s.makeRoom(ctx, tx, t.owner.Tenant, t.sessionID, t.at)
}

// moveTip stores the snapshot of a turn, if it has one, and notes in the session that the
// turn has ended.
func moveTip(ctx context.Context, tx *tx, t *endedTurn) error {
	if t.snapshot == nil {
		return tx.RestSession(ctx, db.RestSessionParams{At: sqlstore.ToMicros(t.at), ID: t.sessionID})
	}
	if err := insertSnapshot(ctx, tx, t.snapshot, t.sessionID, t.id, t.owner); err != nil {
		return err
	}
	return tx.MoveTip(ctx, db.MoveTipParams{Tip: t.snapshot.ID, CurrentAgentID: t.snapshot.CurrentAgentID, At: sqlstore.ToMicros(t.at), ID: t.sessionID})
}
