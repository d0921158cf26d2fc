package memory

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// Reap takes turns from workers with expired leases, and queues due turns.
func (m *Store) Reap(ctx context.Context, now time.Time) (n int, err error) {
	err = m.withJobs(ctx, func(jobs *jobs) error {
		clock := time.Now()
		n = m.takeFromWorkers(now, jobs, func(t *turn) bool { return t.LeaseUntil.Before(clock) })
		return nil
	})
	return n, err
}

// Recover takes all running turns from their dead workers, and queues the turns that are admitted
// or not due yet.
func (m *Store) Recover(ctx context.Context, now time.Time) (n int, err error) {
	err = m.withJobs(ctx, func(made *jobs) error {
		n = m.takeFromWorkers(now, new(jobs), func(*turn) bool { return true })
		for _, t := range m.inOrder() {
			if t.Status == store.Pending && (t.Admitted || t.NotBefore.After(now)) {
				*made = append(*made, store.Job{TurnID: t.ID, NotBefore: t.NotBefore})
			}
		}
		return nil
	})
	return n, err
}

// takeFromWorkers makes running turns pending, keeping their tenant's room, and admits turns that
// have room.
func (m *Store) takeFromWorkers(now time.Time, made *jobs, dead func(*turn) bool) (n int) {
	live := m.inOrder()
	for _, t := range live {
		if t.Status != store.Running || !dead(t) {
			continue
		}
		t.Strikes++
		t.goOn(truncateTime(now), made)
		n++
	}
	for _, t := range live {
		m.admitTurn(t, now, made)
	}
	return n
}
