package workflow

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// tick is the clock's longest wait: schedules may change in another process, and the system time
// may jump.
const tick = 5 * time.Second

// runClock creates the runs of schedules until the engine is closed.
func (e *Engine) runClock() {
	for {
		wait := e.fireDue(e.ctx)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.changed:
			timer.Stop()
		case <-e.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// firingPatience is how long the clock waits for tenants' runs to be created before it checks other
// schedules again.
const firingPatience = 100 * time.Millisecond

// fireDue creates the due runs and returns the time until the next one.
func (e *Engine) fireDue(ctx context.Context) time.Duration {
	list, err := e.schedules(ctx)
	if err != nil {
		e.logError("reading schedules failed", err)
		return tick
	}
	if len(list) == 0 {
		return tick
	}
	now := e.now()
	if len(e.dueByTenant(list, now)) == 0 {
		return e.waitFor(list, now)
	}
	if err := e.loadCursors(ctx); err != nil {
		e.logError("reading cursors of schedules failed", err)
		return lookInterval
	}
	e.fireTenants(ctx, e.dueByTenant(list, now), now)
	return e.waitFor(list, now)
}

func (e *Engine) loadCursors(ctx context.Context) error {
	e.clock.mu.Lock()
	defer e.clock.mu.Unlock()
	return e.clock.known.load(ctx, e.settings.Store)
}

// dueByTenant returns the schedules that are new or due, of the tenants whose runs are not already
// being created.
func (e *Engine) dueByTenant(list []scheduled, now time.Time) map[string][]*scheduled {
	e.clock.mu.Lock()
	defer e.clock.mu.Unlock()
	due := make(map[string][]*scheduled)
	for i := range list {
		s := &list[i]
		last, ok := e.clock.known[s.cursorKey()]
		if next := s.times.Next(last); !e.clock.busy[s.owner.Tenant] && (!ok || !next.IsZero() && !next.After(now)) {
			due[s.owner.Tenant] = append(due[s.owner.Tenant], s)
		}
	}
	return due
}

// fireTenants creates the runs of tenants, each separately, and waits for most of them.
func (e *Engine) fireTenants(ctx context.Context, due map[string][]*scheduled, now time.Time) {
	var firing sync.WaitGroup
	var late atomic.Bool
	room := make(chan struct{}, workers)
	for tenant, list := range due {
		e.clock.setBusy(tenant, true)
		firing.Add(1)
		e.tasks.Go(func() {
			room <- struct{}{}
			failed := e.fireTenant(ctx, list, now)
			<-room
			if failed {
				late.Store(true)
				firing.Done()
				_ = wait.For(ctx, lookInterval)
			} else {
				defer firing.Done()
			}
			e.clock.setBusy(tenant, false)
			if late.Load() {
				signal(e.changed)
			}
		})
	}
	done := make(chan struct{})
	e.tasks.Go(func() { firing.Wait(); close(done) })
	patience := time.NewTimer(firingPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		late.Store(true) // unfinished ones notify when they are done
	}
}

// fireTenant creates the due runs of one tenant. It reports whether it failed and should be retried
// after a pause.
func (e *Engine) fireTenant(ctx context.Context, list []*scheduled, now time.Time) (failed bool) {
	runs, moved, failed := e.dueRuns(ctx, list, now)
	created, err := e.settings.Store.CreateRuns(ctx, runs, moved)
	if err != nil {
		e.logError("creating scheduled runs failed; will retry", err, zap.Int("runs", len(runs)))
		return true
	}
	e.clock.mu.Lock()
	for _, c := range moved {
		e.clock.known[cursorKey{c.Tenant, c.ID}] = c.Last
	}
	e.clock.mu.Unlock()
	if len(created) > 0 {
		signal(e.news)
	}
	return failed
}

// waitFor returns the time until the next schedule is due. It skips tenants whose runs are being
// created: the clock is notified when they are done.
func (e *Engine) waitFor(list []scheduled, now time.Time) time.Duration {
	e.clock.mu.Lock()
	defer e.clock.mu.Unlock()
	wait := tick
	for i := range list {
		if e.clock.busy[list[i].owner.Tenant] {
			continue
		}
		if next := list[i].times.Next(e.clock.known[list[i].cursorKey()]); !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
	}
	return max(wait, time.Millisecond)
}

// dueRuns returns the due runs of a tenant and the new cursors. The cursor of a schedule whose runs
// cannot be created now stays unchanged; failed reports that there is one.
func (e *Engine) dueRuns(ctx context.Context, list []*scheduled, now time.Time) (runs []*store.WorkflowRun, moved []store.ScheduleCursor, failed bool) {
	for _, s := range list {
		e.clock.mu.Lock()
		last, ok := e.clock.known[s.cursorKey()]
		e.clock.mu.Unlock()
		if !ok { // it counts from now on
			moved = append(moved, store.ScheduleCursor{Tenant: s.owner.Tenant, ID: s.key, Last: now})
			continue
		}
		if next := s.times.Next(last); next.IsZero() || next.After(now) {
			continue
		}
		reached := now
		if due := s.schedule.Due(s.times, last, now); !s.paused && len(due) > 0 {
			made, err := e.runsOf(ctx, s, due, now)
			if err != nil {
				e.logError("making scheduled runs failed", err, zap.String("tenant", s.owner.Tenant), zap.String("schedule", s.id))
				if !errors.Is(err, service.ErrRevisionGone) {
					failed = true
					continue
				}
			}
			reached, runs = due[len(due)-1], append(runs, made...)
		}
		moved = append(moved, store.ScheduleCursor{Tenant: s.owner.Tenant, ID: s.key, Last: reached})
	}
	return runs, moved, failed
}

// runsOf returns the runs of a schedule for its due times. Their ids are the same in every process.
func (e *Engine) runsOf(ctx context.Context, s *scheduled, due []time.Time, now time.Time) (runs []*store.WorkflowRun, err error) {
	for _, at := range due {
		id := "schedule:" + s.runName() + ":" + at.UTC().Format(time.RFC3339)
		run, err := e.newRun(ctx, &s.definition, id, &Trigger{Kind: BySchedule, ID: s.id, ScheduledFor: at.UTC()}, s.schedule.Input, now)
		if err != nil {
			return nil, err
		}
		if run != nil {
			runs = append(runs, run)
		}
	}
	return runs, nil
}
