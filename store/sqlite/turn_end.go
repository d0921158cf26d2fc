package sqlite

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// writeEnd writes the row of an ending turn.
func writeEnd(ctx context.Context, tx *tx, row *changingTurn, status store.Status, result []byte, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE turns SET status = ?1, result = ?2, seq = ?3, fence = ?4, steps = ?5, messages = ?6,
		worker = '', lease_until = 0, admitted = 0, finished_at = ?7, updated_at = ?7, changed_at = ?7 WHERE made = ?8`,
		string(status), result, row.seq, row.fence, row.steps, row.messages, sqlstore.ToMicros(now), row.made)
	return err
}

// settleEnd applies the consequences of a turn's end, and admits turns into the freed room. The
// snapshot becomes the session's tip; nil keeps the tip.
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
		return nil // no turn waits for room
	}
	return s.makeRoom(ctx, tx, row.owner.Tenant, row.sessionID, now)
}

// moveTip stores the snapshot of a turn, if any, and records in the session that the turn has
// ended.
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
