package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Claim makes the worker the owner of a pending turn.
func (s *Store) Claim(ctx context.Context, c *store.Claim) (claimed *store.Claimed, err error) {
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		claimed, err = s.claimTurn(ctx, tx, c)
		return err
	})
	if err == nil && claimed == nil {
		err = store.ErrHeld
	}
	if err != nil {
		return nil, wrapError("claim turn", c.TurnID, err)
	}
	return claimed, nil
}

// claimTurn returns nil for a turn that is held back: that may have changed
// something.
func (s *Store) claimTurn(ctx context.Context, tx *tx, c *store.Claim) (*store.Claimed, error) {
	row, err := tx.TurnToClaim(ctx, c.TurnID)
	if err != nil {
		return nil, err
	}
	t := turnOf(&row.Turn)
	if t.Status != store.Pending {
		return nil, &store.StateError{Kind: "turn", ID: t.ID, State: row.Turn.Status, Want: "claimed"}
	}
	ok, err := s.isClaimable(ctx, tx, &row, c.Now)
	if err != nil || !ok {
		return nil, err
	}
	session, err := sessionOf(&row.Session)
	if err != nil {
		return nil, err
	}
	first := t.StartedAt.IsZero()
	startTurn(t, session, c)
	claimed := &store.Claimed{Turn: *t, Session: *session}
	if err := loadClaimed(ctx, tx, claimed, first); err != nil {
		return nil, err
	}
	return claimed, tx.ClaimTurn(ctx, db.ClaimTurnParams{
		Worker: t.Worker, Fence: t.Fence, LeaseUntil: sqlstore.ToMicros(t.LeaseUntil), HeartbeatAt: sqlstore.ToMicros(t.HeartbeatAt), StartedAt: sqlstore.ToMicros(t.StartedAt),
		ParentSnapshotID: t.ParentSnapshotID, Revision: t.Revision, At: sqlstore.ToMicros(t.UpdatedAt), Made: row.Turn.Made,
	})
}

// isClaimable reports whether a pending turn can be claimed now. One that was not
// due when it was made is admitted if it can be; one whose session was taken by
// such a turn is not admitted any more.
func (s *Store) isClaimable(ctx context.Context, tx *tx, row *db.TurnToClaimRow, now time.Time) (bool, error) {
	t := &row.Turn
	if !t.Admitted {
		if t.NotBefore > sqlstore.ToMicros(now) {
			return false, nil
		}
		ok, err := s.mayStart(ctx, tx, t.ID, t.Tenant, t.SessionID, now)
		t.Admitted = ok
		return ok, err
	}
	if t.StartedAt != 0 || !row.Begun {
		return true, nil
	}
	if err := tx.SetAdmitted(ctx, db.SetAdmittedParams{Admitted: false, Made: t.Made}); err != nil {
		return false, err
	}
	return false, s.makeRoom(ctx, tx, t.Tenant, t.SessionID, now)
}

// startTurn makes a turn the worker's.
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
	// Leases go by the clock of the store, as in Heartbeat and Reap.
	t.HeartbeatAt = sqlstore.Truncate(time.Now())
	t.LeaseUntil = t.HeartbeatAt.Add(c.Lease).Truncate(time.Microsecond)
}

// loadParent reads the snapshot that a turn goes on from, if there is one.
func loadParent(ctx context.Context, tx *tx, c *store.Claimed) error {
	if c.Turn.ParentSnapshotID == "" {
		return nil
	}
	row, err := tx.GetSnapshot(ctx, c.Turn.ParentSnapshotID)
	if err == nil {
		c.Snapshot = snapshotOf(&row)
	} else if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// loadClaimed reads what is needed to run a turn. One that was not claimed before has
// nothing but its input.
func loadClaimed(ctx context.Context, tx *tx, c *store.Claimed, first bool) (err error) {
	if err := loadParent(ctx, tx, c); err != nil {
		return err
	}
	id := c.Turn.ID
	if c.Messages, err = tx.MessagesOf(ctx, id); err != nil || first {
		return err
	}
	if c.State, err = tx.GetState(ctx, id); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	journal, err := tx.GetJournal(ctx, id)
	if err != nil {
		return err
	}
	c.Journal = journalOf(journal)
	interactions, err := tx.InteractionsOf(ctx, id)
	for i := range interactions {
		c.Interactions = append(c.Interactions, interactionOf(&interactions[i]))
	}
	return err
}

// Heartbeat prolongs the leases of a worker's turns.
func (s *Store) Heartbeat(ctx context.Context, worker string, lease time.Duration, held []store.Held) (lost []string, err error) {
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		lost = nil
		now := time.Now()
		for _, h := range held {
			n, err := tx.Heartbeat(ctx, db.HeartbeatParams{
				LeaseUntil: sqlstore.ToMicros(now.Add(lease)), HeartbeatAt: sqlstore.ToMicros(now), ID: h.TurnID, Fence: h.Fence, Worker: worker,
			})
			if err != nil {
				return err
			}
			if n == 0 {
				lost = append(lost, h.TurnID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrapError("prolong the leases of worker", worker, err)
	}
	return lost, nil
}
