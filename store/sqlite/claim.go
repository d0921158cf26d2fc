package sqlite

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// Claim makes the worker the owner of a pending turn.
func (s *Store) Claim(ctx context.Context, c *store.Claim) (*store.Claimed, error) {
	claimed, err := runNamed(ctx, s, "claim turn", c.TurnID, func(ctx context.Context, tx *tx) (*store.Claimed, error) {
		return s.claimTurn(ctx, tx, c)
	})
	if err == nil && claimed == nil {
		err = wrapError("claim turn", c.TurnID, store.ErrHeld)
	}
	return claimed, err
}

// claimable is a turn with its session. begun reports whether a turn of the session is under way.
type claimable struct {
	made    int64
	turn    store.Turn
	session sqlstore.SessionRow
	begun   bool
}

func (c *claimable) fields() []any {
	list := append(make([]any, 0, 48), &c.made, &c.begun)
	return c.session.AppendFields(sqlstore.AppendTurnFields(list, &c.turn))
}

var (
	selectClaimable = `SELECT t.made, EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.started_at <> 0 AND b.finished_at = 0), ` +
		sqlstore.Qualify("t", sqlstore.TurnColumns) + ", " + sqlstore.Qualify("s", sqlstore.SessionColumns) +
		" FROM turns t JOIN sessions s ON s.id = t.session_id WHERE t.id = ?"
	selectSnapshot = "SELECT " + sqlstore.SnapshotColumns + " FROM snapshots WHERE id = ?"
)

// claimTurn returns nil for a turn that is held back. Holding it back may have changed the store.
func (s *Store) claimTurn(ctx context.Context, tx *tx, c *store.Claim) (*store.Claimed, error) {
	row, err := sqlstore.FindRow(ctx, tx, (*claimable).fields, selectClaimable, c.TurnID)
	if err != nil {
		return nil, err
	}
	t := &row.turn
	if t.Status != store.Pending {
		return nil, &store.StateError{Kind: "turn", ID: t.ID, State: string(t.Status), Want: "claimed"}
	}
	ok, err := s.isClaimable(ctx, tx, row, c.Now)
	if err != nil || !ok {
		return nil, err
	}
	session, err := row.session.Record(&sqlstore.Labels{})
	if err != nil {
		return nil, err
	}
	first := t.StartedAt.IsZero()
	startTurn(t, session, c)
	claimed := &store.Claimed{Turn: *t, Session: *session}
	if err := loadClaimed(ctx, tx, claimed, first); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `UPDATE turns SET status = 'running', admitted = 1, worker = ?1, fence = ?2, lease_until = ?3, heartbeat_at = ?4,
		started_at = ?5, parent_snapshot_id = ?6, revision = ?7, updated_at = ?8, changed_at = ?8 WHERE made = ?9`,
		t.Worker, t.Fence, sqlstore.ToMicros(t.LeaseUntil), sqlstore.ToMicros(t.HeartbeatAt), sqlstore.ToMicros(t.StartedAt),
		t.ParentSnapshotID, t.Revision, sqlstore.ToMicros(t.UpdatedAt), row.made)
	return claimed, err
}

// isClaimable reports whether a pending turn can be claimed now. It admits a turn that has become
// due, if possible, and un-admits a turn whose session was taken by such a turn.
func (s *Store) isClaimable(ctx context.Context, tx *tx, row *claimable, now time.Time) (bool, error) {
	t := &row.turn
	if !t.Admitted {
		if t.NotBefore.After(now) {
			return false, nil
		}
		ok, err := s.mayStart(ctx, tx, t.ID, t.Owner.Tenant, t.SessionID, now)
		t.Admitted = ok
		return ok, err
	}
	if !t.StartedAt.IsZero() || !row.begun {
		return true, nil
	}
	if err := setAdmitted(ctx, tx, row.made, false); err != nil {
		return false, err
	}
	return false, s.makeRoom(ctx, tx, t.Owner.Tenant, t.SessionID, now)
}

// startTurn makes the worker the owner of a turn.
func startTurn(t *store.Turn, session *store.Session, c *store.Claim) {
	now := sqlstore.Truncate(c.Now)
	if t.StartedAt.IsZero() {
		t.StartedAt = now
		if t.ParentSnapshotID == "" && !t.FromStart {
			t.ParentSnapshotID = session.Tip
		}
	}
	t.Revision = cmp.Or(t.Revision, c.Revision)
	t.Status, t.Admitted, t.Worker, t.Fence = store.Running, true, c.Worker, t.Fence+1
	t.UpdatedAt, t.ChangedAt = now, now
	// Leases use the store's clock, as in Heartbeat and Reap.
	t.HeartbeatAt = sqlstore.Truncate(time.Now())
	t.LeaseUntil = t.HeartbeatAt.Add(c.Lease).Truncate(time.Microsecond)
}

// loadParent reads the snapshot that a turn continues from, if any.
func loadParent(ctx context.Context, tx *tx, c *store.Claimed) error {
	if c.Turn.ParentSnapshotID == "" {
		return nil
	}
	parent, err := sqlstore.FindRow(ctx, tx, sqlstore.SnapshotFields, selectSnapshot, c.Turn.ParentSnapshotID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	c.Snapshot = parent
	return err
}

// loadClaimed reads everything needed to run a turn. A turn that was never claimed has only its
// input.
func loadClaimed(ctx context.Context, tx *tx, c *store.Claimed, first bool) (err error) {
	if err := loadParent(ctx, tx, c); err != nil {
		return err
	}
	id := c.Turn.ID
	if c.Messages, err = sqlstore.CollectColumn[[]byte](ctx, tx, "SELECT body FROM messages WHERE owner_id = ? ORDER BY n", id); err != nil || first {
		return err
	}
	if c.State, err = sqlstore.FindValue[[]byte](ctx, tx, "SELECT body FROM turn_states WHERE turn_id = ?", id); err != nil {
		return err
	}
	if c.Journal, err = sqlstore.CollectRows(ctx, tx, sqlstore.JournalFields, "SELECT "+sqlstore.JournalColumns+" FROM journal WHERE turn_id = ? ORDER BY n", id); err != nil {
		return err
	}
	c.Interactions, err = sqlstore.CollectRecords(ctx, tx, sqlstore.InteractionFields,
		"SELECT "+sqlstore.InteractionColumns+" FROM interactions WHERE turn_id = ? ORDER BY n", id)
	return err
}

// Heartbeat extends the leases of a worker's turns.
func (s *Store) Heartbeat(ctx context.Context, worker string, lease time.Duration, held []store.Held) ([]string, error) {
	return runNamed(ctx, s, "prolong the leases of worker", worker, func(ctx context.Context, tx *tx) (lost []string, err error) {
		now := time.Now()
		for _, h := range held {
			n, err := tx.Exec(ctx, "UPDATE turns SET lease_until = ?, heartbeat_at = ? WHERE id = ? AND fence = ? AND worker = ? AND status = 'running'",
				sqlstore.ToMicros(now.Add(lease)), sqlstore.ToMicros(now), h.TurnID, h.Fence, worker)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				lost = append(lost, h.TurnID)
			}
		}
		return lost, nil
	})
}
