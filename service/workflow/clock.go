package workflow

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/workflow"
	"go.uber.org/zap"
)

// tick is how long the clock waits at most: schedules may have changed meanwhile, in
// another process too, and so may the time have.
const tick = 5 * time.Second

// scheduled is a schedule of a workflow, as it is now.
type scheduled struct {
	definition
	schedule *workflow.Schedule
	times    *workflow.Times
}

// runClock makes the runs of schedules until the engine is closed.
func (e *Engine) runClock() {
	known := make(cursors)
	for {
		wait := e.fireDue(e.ctx, known)
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

// cursors are how far schedules have been worked through, as far as this process knows.
type cursors map[cursorKey]time.Time

type cursorKey struct{ tenant, id string }

// load takes over what the store has. Other processes move on cursors, too.
func (c cursors) load(ctx context.Context, s store.WorkflowRuns) error {
	list, err := s.Cursors(ctx)
	for _, one := range list {
		if key := (cursorKey{one.Tenant, one.ID}); one.Last.After(c[key]) {
			c[key] = one.Last
		}
	}
	return err
}

// fireDue makes the runs that are due, and returns how long nothing else is.
func (e *Engine) fireDue(ctx context.Context, known cursors) time.Duration {
	list, err := e.schedules(ctx)
	if err != nil {
		e.logError("reading schedules failed", err)
		return tick
	}
	if len(list) == 0 {
		return tick
	}
	now := e.now()
	if !e.isDue(list, known, now) {
		return e.waitFor(list, known, now)
	}
	if err := known.load(ctx, e.settings.Store); err != nil {
		e.logError("reading cursors of schedules failed", err)
		return lookInterval
	}
	runs, moved := e.dueRuns(list, known, now)
	created, err := e.settings.Store.CreateRuns(ctx, runs, moved)
	if err != nil {
		e.logError("creating scheduled runs failed; will retry", err, zap.Int("runs", len(runs)))
		return lookInterval
	}
	for _, c := range moved {
		known[cursorKey{c.Tenant, c.ID}] = c.Last
	}
	if len(created) > 0 {
		signal(e.news)
	}
	return e.waitFor(list, known, now)
}

// isDue reports whether a schedule is new, or due.
func (e *Engine) isDue(list []scheduled, known cursors, now time.Time) bool {
	for i := range list {
		last, ok := known[list[i].cursorKey()]
		if next := list[i].times.Next(last); !ok || !next.IsZero() && !next.After(now) {
			return true
		}
	}
	return false
}

// waitFor returns how long no schedule is due.
func (e *Engine) waitFor(list []scheduled, known cursors, now time.Time) time.Duration {
	wait := tick
	for i := range list {
		if next := list[i].times.Next(known[list[i].cursorKey()]); !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
	}
	return max(wait, time.Millisecond)
}

func (s *scheduled) cursorKey() cursorKey { return cursorKey{s.owner.Tenant, s.id} }

// dueRuns returns the runs that are due, and where the cursors move.
func (e *Engine) dueRuns(list []scheduled, known cursors, now time.Time) (runs []*store.WorkflowRun, moved []store.ScheduleCursor) {
	for i := range list {
		s := &list[i]
		last, ok := known[s.cursorKey()]
		if !ok { // it is due from now on
			moved = append(moved, store.ScheduleCursor{Tenant: s.owner.Tenant, ID: s.id, Last: now})
			continue
		}
		if next := s.times.Next(last); next.IsZero() || next.After(now) {
			continue
		}
		reached := now
		if due := s.schedule.Due(s.times, last, now); !s.paused && len(due) > 0 {
			reached = due[len(due)-1]
			for _, at := range due {
				run, err := e.scheduledRun(s, at, now)
				if err != nil {
					e.logError("making scheduled run failed", err, zap.String("schedule", s.id))
					continue
				}
				runs = append(runs, run)
			}
		}
		moved = append(moved, store.ScheduleCursor{Tenant: s.owner.Tenant, ID: s.id, Last: reached})
	}
	return runs, moved
}

// scheduledRun returns the run of a due time. Its id is the same in every process.
func (e *Engine) scheduledRun(s *scheduled, at, now time.Time) (*store.WorkflowRun, error) {
	id := "schedule:" + s.id + ":" + at.UTC().Format(time.RFC3339)
	return s.newRun(id, &Trigger{Kind: BySchedule, ID: s.id, ScheduledFor: at.UTC()}, s.schedule.Input, now)
}

// newRun returns a run that was not made yet.
func (d *definition) newRun(id string, trigger *Trigger, input json.RawMessage, now time.Time) (*store.WorkflowRun, error) {
	began, err := json.Marshal(trigger)
	if err != nil {
		return nil, err
	}
	flow, err := json.Marshal(d.flow.Definition())
	if err != nil {
		return nil, err
	}
	return &store.WorkflowRun{
		ID: id, WorkflowID: d.flow.ID, Owner: d.owner, Shared: d.declared, Status: store.RunPending, Revision: d.revision,
		Definition: flow, Trigger: began, Input: input, Limit: d.flow.Limit(), DueAt: now, CreatedAt: now, UpdatedAt: now,
	}, nil
}
