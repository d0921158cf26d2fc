package sqlite

import (
	"bytes"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// EndTurn ends a live turn from outside.
func (s *Store) EndTurn(ctx context.Context, e *store.EndTurn) (ended *store.Turn, err error) {
	if err := e.CheckText(); err != nil {
		return nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		ended, err = sqlstore.FindTurn(ctx, tx, e.Scope, e.TurnID, "")
		if err != nil || !ended.Status.Live() {
			return err
		}
		return s.endTurn(ctx, tx, ended, e)
	})
	if err != nil {
		return nil, wrapError("end turn", e.TurnID, err)
	}
	return ended, nil
}

// endTurn puts a turn into its last state, and admits what that makes room for.
func (s *Store) endTurn(ctx context.Context, tx *tx, t *store.Turn, e *store.EndTurn) error {
	row, err := findChanging(ctx, tx, t.ID)
	if err != nil {
		return err
	}
	row.seq++
	row.fence++
	row.asks, row.followed = true, true // perhaps
	last := e.Event
	last.Seq = uint64(row.seq)
	if err := insertEvents(ctx, tx, t.ID, []event.Record{last}); err != nil {
		return err
	}
	if err := writeEnd(ctx, tx, row, e.Status, e.Result, e.Now); err != nil {
		return err
	}
	at := sqlstore.Truncate(e.Now)
	t.Status, t.Result, t.FinishedAt, t.UpdatedAt, t.ChangedAt = e.Status, bytes.Clone(e.Result), at, at, at
	t.Seq, t.Fence, t.Worker, t.LeaseUntil, t.Admitted = last.Seq, row.fence, "", time.Time{}, false
	return s.settleEnd(ctx, tx, t.ID, row, nil, e.Now)
}

// writeEnd writes the row of a turn that ends.
func writeEnd(ctx context.Context, tx *tx, row *changingTurn, status store.Status, result []byte, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE turns SET status = ?1, result = ?2, seq = ?3, fence = ?4, steps = ?5, messages = ?6,
		worker = '', lease_until = 0, admitted = 0, finished_at = ?7, updated_at = ?7, changed_at = ?7 WHERE made = ?8`,
		string(status), result, row.seq, row.fence, row.steps, row.messages, sqlstore.ToMicros(now), row.made)
	return err
}

// settleEnd does what the end of a turn entails, and admits what that makes room for. The
// snapshot becomes the tip of the session; nil leaves it.
func (s *Store) settleEnd(ctx context.Context, tx *tx, id string, row *changingTurn, snapshot *store.Snapshot, now time.Time) error {
	if _, err := tx.Exec(ctx, "DELETE FROM turn_states WHERE turn_id = ?", id); err != nil {
		return err
	}
	if row.asks {
		_, err := tx.Exec(ctx, "UPDATE interactions SET state = 'canceled', resolved_at = ? WHERE turn_id = ? AND state = 'pending'", sqlstore.ToMicros(now), id)
		if err != nil {
			return err
		}
	}
	if err := moveTip(ctx, tx, id, row, snapshot, now); err != nil {
		return err
	}
	if !row.followed && s.tenantTurns <= 0 {
		return nil // nobody waits for its room
	}
	return s.makeRoom(ctx, tx, row.owner.Tenant, row.sessionID, now)
}

// moveTip stores the snapshot of a turn, if it has one, and notes in the session that the
// turn has ended.
func moveTip(ctx context.Context, tx *tx, id string, row *changingTurn, snapshot *store.Snapshot, now time.Time) error {
	at := sqlstore.ToMicros(now)
	if snapshot == nil {
		_, err := tx.Exec(ctx, "UPDATE sessions SET active_at = max(active_at, CAST(? AS INTEGER)) WHERE id = ?", at, row.sessionID)
		return err
	}
	if err := insertSnapshot(ctx, tx, snapshot, row.sessionID, id, row.owner); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE sessions SET tip = ?1, current_agent_id = ?2, updated_at = CAST(?3 AS INTEGER), active_at = max(active_at, CAST(?3 AS INTEGER))
		WHERE id = ?4`, snapshot.ID, snapshot.CurrentAgentID, at, row.sessionID)
	return err
}
