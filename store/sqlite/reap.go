package sqlite

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Reap takes turns from workers whose leases have ended by the clock of the
// store, and queues those that became due.
func (s *Store) Reap(ctx context.Context, now time.Time) (n int, err error) {
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		ended := sqlstore.ToMicros(time.Now())
		if n, err = takeFromWorkers(ctx, tx, now, func(leaseUntil int64) bool { return leaseUntil < ended }); err != nil {
			return err
		}
		return s.admitDue(ctx, tx, now)
	})
	if err != nil {
		return 0, wrapError("reap turns", s.path, err)
	}
	return n, nil
}

// Recover takes every running turn from its worker: the file belongs to this
// process, so that another one's workers are dead. It queues jobs for all turns
// that are admitted or not due, and for those that a raised limit makes room for.
func (s *Store) Recover(ctx context.Context, now time.Time) (n int, err error) {
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		queued := len(tx.jobs)
		if n, err = takeFromWorkers(ctx, tx, now, func(int64) bool { return true }); err != nil {
			return err
		}
		tenants, err := tx.HeldTenants(ctx)
		if err != nil {
			return err
		}
		for _, tenant := range tenants {
			if err := s.admitHeld(ctx, tx, tenant, now); err != nil {
				return err
			}
		}
		all, err := tx.QueuedTurns(ctx, sqlstore.ToMicros(now))
		if err != nil {
			return err
		}
		tx.jobs = tx.jobs[:queued] // they are among all
		for _, t := range all {
			tx.jobs = append(tx.jobs, store.Job{TurnID: t.ID, NotBefore: sqlstore.FromMicros(t.NotBefore)})
		}
		return nil
	})
	if err != nil {
		return 0, wrapError("recover turns", s.path, err)
	}
	return n, nil
}

// takeFromWorkers takes running turns from their workers and queues jobs for them.
func takeFromWorkers(ctx context.Context, tx *tx, now time.Time, dead func(leaseUntil int64) bool) (n int, err error) {
	running, err := tx.RunningTurns(ctx)
	if err != nil {
		return 0, err
	}
	for _, t := range running {
		if !dead(t.LeaseUntil) {
			continue
		}
		if err := tx.ReapTurn(ctx, db.ReapTurnParams{At: sqlstore.ToMicros(now), Made: t.Made}); err != nil {
			return 0, err
		}
		tx.jobs = append(tx.jobs, store.Job{TurnID: t.ID})
		n++
	}
	return n, nil
}

// admitDue admits turns that became due, if they have room. All other turns were
// admitted by the change that made room for them.
func (s *Store) admitDue(ctx context.Context, tx *tx, now time.Time) error {
	due, err := tx.NowDue(ctx, sqlstore.ToMicros(now))
	if err != nil {
		return err
	}
	for _, t := range due {
		if err := s.makeRoom(ctx, tx, t.Tenant, t.SessionID, now); err != nil {
			return err
		}
	}
	return nil
}
