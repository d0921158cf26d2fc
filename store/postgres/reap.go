package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// chunk is how many turns one transaction of the reaper changes or queues.
const chunk = 500

// lostAfter is how long an admitted turn waits for a worker before it is queued again: the process
// that took its job may have died before the claim. If jobs wait this long in the queue, it gets
// duplicates, which are harmless.
const lostAfter = 15 * time.Second

// Reap makes turns pending whose leases have expired by the database's clock. Several replicas may
// call it concurrently: none waits for another.
func (s *Store) Reap(ctx context.Context, now time.Time) (taken int, err error) {
	for {
		n, err := s.reapChunk(ctx, now)
		if err != nil {
			return taken, wrapError("reap", "turns", err)
		}
		if taken += n; n < chunk {
			break
		}
	}
	return taken, wrapError("admit", "turns", s.admitFreed(ctx, now))
}

func (s *Store) reapChunk(ctx context.Context, now time.Time) (n int, err error) {
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		ids, err := s.queries.WithTx(tx).ReapTurns(ctx, db.ReapTurnsParams{Now: instant.Time(now), Most: chunk})
		if err != nil {
			return err
		}
		n = len(ids)
		lost, err := s.queries.WithTx(tx).RequeueTurns(ctx, db.RequeueTurnsParams{Now: instant.Time(now), Before: instant.Time(now.Add(-lostAfter)), Most: chunk})
		if err != nil {
			return err
		}
		return s.enqueueJobs(ctx, tx, jobsOf(append(ids, lost...)))
	})
	return n, err
}

// Recover queues jobs for turns that are admitted or not due yet. It takes turns from other
// workers only as Reap does, because they may be alive.
func (s *Store) Recover(ctx context.Context, now time.Time) (taken int, err error) {
	if taken, err = s.Reap(ctx, now); err != nil {
		return taken, err
	}
	for after := ""; ; {
		rows, err := s.queries.QueuedAfter(ctx, db.QueuedAfterParams{Now: instant.Time(now), After: after, Most: chunk})
		if err != nil {
			return taken, wrapError("recover", "turns", err)
		}
		if len(rows) == 0 {
			return taken, nil
		}
		jobs := make([]store.Job, len(rows))
		for i, r := range rows {
			jobs[i].TurnID = r.ID
			if !r.Admitted {
				jobs[i].NotBefore = time.Time(r.NotBefore)
			}
		}
		after = rows[len(rows)-1].ID
		if err := s.runTransaction(ctx, func(tx pgx.Tx) error { return s.enqueueJobs(ctx, tx, jobs) }); err != nil {
			return taken, wrapError("recover", "turns", err)
		}
	}
}

// admitFreed admits due turns that nothing blocks any more, because they have become due or a limit
// was raised.
func (s *Store) admitFreed(ctx context.Context, now time.Time) (err error) {
	var tenants, sessions []string
	if s.tenantTurns > 0 {
		tenants, err = s.queries.HeldTenants(ctx, instant.Time(now))
	} else {
		sessions, err = s.queries.HeldSessions(ctx, db.HeldSessionsParams{Now: instant.Time(now), Most: chunk})
	}
	if err != nil || len(tenants)+len(sessions) == 0 {
		return err
	}
	return s.runTransaction(ctx, func(tx pgx.Tx) error {
		var (
			p     pipeline
			found []string
		)
		err := errors.Join(p.queuedQueries().LockTenants(ctx, tenants), p.queuedQueries().LockSessions(ctx, sessions))
		if err != nil {
			return err
		}
		s.queueAdmission(&p, tenants, sessions, now, &found)
		if err := p.sendQueued(ctx, tx); err != nil {
			return err
		}
		return s.enqueueJobs(ctx, tx, jobsOf(found))
	})
}
