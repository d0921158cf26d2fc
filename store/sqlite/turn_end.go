package sqlite

import (
	"bytes"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
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
		return s.endTurn(ctx, tx, row.Made, row.Messages, ended, e.Status, e.Result, e.Now)
	})
	if err != nil {
		return nil, wrapError("end turn", e.TurnID, err)
	}
	return ended, nil
}

// endTurn puts a turn into its last state, and admits what that makes room for.
func (s *Store) endTurn(ctx context.Context, tx *tx, made, messages int64, t *store.Turn, status store.Status, result []byte, now time.Time) error {
	at := fromMicros(toMicros(now))
	t.Status, t.Result, t.FinishedAt, t.UpdatedAt, t.ChangedAt = status, bytes.Clone(result), at, at, at
	t.Worker, t.LeaseUntil, t.Admitted = "", time.Time{}, false
	err := tx.EndTurn(ctx, db.EndTurnParams{
		Status: string(status), Result: result, Seq: int64(t.Seq), Fence: t.Fence, Steps: int64(t.Steps), Messages: messages, At: toMicros(now), Made: made,
	})
	if err != nil {
		return err
	}
	if err := tx.DeleteState(ctx, t.ID); err != nil {
		return err
	}
	if err := tx.CancelInteractions(ctx, db.CancelInteractionsParams{ResolvedAt: toMicros(now), TurnID: t.ID}); err != nil {
		return err
	}
	if err := tx.RestSession(ctx, db.RestSessionParams{At: toMicros(now), ID: t.SessionID}); err != nil {
		return err
	}
	return s.makeRoom(ctx, tx, t.Owner.Tenant, t.SessionID, now)
}
