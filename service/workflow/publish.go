package workflow

import (
	"context"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// runID returns the id of the run that an event starts by a trigger. The same event, identified by
// its source and id, starts no other run.
func (ev *Event) runID(kind TriggerKind, trigger string) string {
	return "event:" + stepID(kind, trigger, ev.Source, ev.ID)[len(stepTurn):]
}

// Publish creates the runs of the caller's tenant whose triggers match the events. It returns the
// accepted events, and the number of new runs that the caller may see.
func (e *Engine) Publish(ctx context.Context, caller service.Caller, events []Event) (taken []Event, created int, err error) {
	scope, err := runScope(caller)
	if err != nil {
		return nil, 0, err
	}
	now := e.now()
	taken = append(taken, events...)
	for i := range taken {
		if err := taken[i].complete(now); err != nil {
			return nil, 0, err
		}
	}
	all, err := e.readStarts(ctx, tenantOf(scope), store.RunScope{All: true})
	if err != nil {
		return nil, 0, err
	}
	var runs []*store.WorkflowRun
	seen := make(map[string]bool) // the ids of runs that the caller may see
	for i := range taken {
		for j := range all.triggers {
			t := &all.triggers[j]
			if t.paused || !t.trigger.Matches(taken[i].Type, taken[i].Source, taken[i].Subject) {
				continue
			}
			run, err := e.newRun(ctx, &t.definition, taken[i].runID(ByEvent, t.key), &Trigger{Kind: ByEvent, ID: t.id, Event: &taken[i]}, taken[i].Data, now)
			if err != nil {
				return nil, 0, err
			}
			if run != nil {
				runs = append(runs, run)
				seen[run.ID] = scope.Sees(run.Owner, run.Shared) && mayUse(caller, t.flow)
			}
		}
	}
	ids, err := e.createRuns(ctx, runs)
	for _, id := range ids {
		if seen[id] {
			created++
		}
	}
	return taken, created, err
}
