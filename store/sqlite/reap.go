package sqlite

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// Reap takes turns from workers whose leases have expired by the store's clock, and queues turns
// that have become due.
func (s *Store) Reap(ctx context.Context, now time.Time) (int, error) {
	return runNamed(ctx, s, "reap turns", s.path, func(ctx context.Context, tx *tx) (int, error) {
		ended := sqlstore.ToMicros(time.Now())
		n, err := takeFromWorkers(ctx, tx, now, func(leaseUntil int64) bool { return leaseUntil < ended })
		if err != nil {
			return 0, err
		}
		return n, s.admitDue(ctx, tx, now)
	})
}

// Recover takes every running turn from its worker: the file belongs to this process, so all other
// workers are dead. It queues jobs for all turns that are admitted or not due, and for those that a
// raised limit makes room for.
func (s *Store) Recover(ctx context.Context, now time.Time) (int, error) {
	return runNamed(ctx, s, "recover turns", s.path, func(ctx context.Context, tx *tx) (int, error) {
		queued := len(tx.jobs)
		n, err := takeFromWorkers(ctx, tx, now, func(int64) bool { return true })
		if err != nil {
			return 0, err
		}
		tenants, err := sqlstore.CollectColumn[string](ctx, tx, "SELECT DISTINCT tenant FROM turns WHERE status = 'pending' AND NOT admitted")
		if err != nil {
			return 0, err
		}
		for _, tenant := range tenants {
			if err := s.admitHeld(ctx, tx, tenant, now); err != nil {
				return 0, err
			}
		}
		all, err := sqlstore.CollectRows(ctx, tx, func(j *store.Job) []any { return []any{&j.TurnID, (*sqlstore.Time)(&j.NotBefore)} },
			"SELECT id, not_before FROM turns WHERE status = 'pending' AND finished_at = 0 AND (admitted OR not_before > ?) ORDER BY made", sqlstore.ToMicros(now))
		tx.jobs = append(tx.jobs[:queued], all...) // all includes the queued ones
		return n, err
	})
}

// takeFromWorkers takes running turns from their workers and queues jobs for them.
func takeFromWorkers(ctx context.Context, tx *tx, now time.Time, dead func(leaseUntil int64) bool) (n int, err error) {
	type lease struct {
		made, until int64
		id          string
	}
	running, err := sqlstore.CollectRows(ctx, tx, func(l *lease) []any { return []any{&l.made, &l.id, &l.until} },
		"SELECT made, id, lease_until FROM turns WHERE status = 'running' AND finished_at = 0")
	if err != nil {
		return 0, err
	}
	for _, l := range running {
		if !dead(l.until) {
			continue
		}
		_, err := tx.Exec(ctx, "UPDATE turns SET status = 'pending', worker = '', lease_until = 0, strikes = strikes + 1, updated_at = ?1, changed_at = ?1 WHERE made = ?2",
			sqlstore.ToMicros(now), l.made)
		if err != nil {
			return 0, err
		}
		tx.jobs = append(tx.jobs, store.Job{TurnID: l.id})
		n++
	}
	return n, nil
}

// admitDue admits turns that have become due if they have room. All other turns were admitted by
// the change that made room for them.
func (s *Store) admitDue(ctx context.Context, tx *tx, now time.Time) error {
	type place struct{ tenant, sessionID string }
	due, err := sqlstore.CollectRows(ctx, tx, func(p *place) []any { return []any{&p.tenant, &p.sessionID} },
		"SELECT DISTINCT tenant, session_id FROM turns WHERE not_before <> 0 AND not_before <= ? AND status = 'pending' AND NOT admitted", sqlstore.ToMicros(now))
	if err != nil {
		return err
	}
	for _, p := range due {
		if err := s.makeRoom(ctx, tx, p.tenant, p.sessionID, now); err != nil {
			return err
		}
	}
	return nil
}
