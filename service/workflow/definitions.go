package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
)

// The kinds of triggers in the store.
const (
	kindSchedule = "schedule"
	kindEvent    = "event"
)

// definition is what starts a workflow: one of its schedules or triggers, under its id.
type definition struct {
	id string
	// key is the definition's id in the store and in the ids of its runs. Two subjects of a tenant
	// may choose the same id.
	key                  string
	flow                 *workflow.Workflow
	owner                store.Owner
	declared             bool
	paused               bool
	createdAt, updatedAt time.Time
}

// runName returns the definition's part of its run ids: the workflow id, plus a hash of the key
// if it differs.
func (d *definition) runName() string {
	if d.key == d.id {
		return d.id
	}
	return d.id + ":" + stepID("made", d.key)[len(stepTurn):][:12]
}

// scheduled is the current schedule of a workflow.
type scheduled struct {
	definition
	schedule *workflow.Schedule
	times    *workflow.Times
}

func (s *scheduled) cursorKey() cursorKey { return cursorKey{s.owner.Tenant, s.key} }

// eventTrigger is the current event trigger of a workflow.
type eventTrigger struct {
	definition
	trigger *workflow.EventTrigger
}

// starts are all schedules and event triggers.
type starts struct {
	schedules []scheduled
	triggers  []eventTrigger
}

// schedules returns all schedules.
func (e *Engine) schedules(ctx context.Context) ([]scheduled, error) {
	all, err := e.listStarts(ctx, store.RunScope{All: true})
	return all.schedules, err
}

// listStarts returns the schedules and triggers in a scope: declared ones with their stored state
// first, then those created by callers.
func (e *Engine) listStarts(ctx context.Context, scope store.RunScope) (starts, error) {
	return e.readStarts(ctx, tenantOf(scope), scope)
}

// tenantOf returns the tenant to which a scope is restricted; empty if it is not restricted.
func tenantOf(scope store.RunScope) string {
	if scope.All {
		return ""
	}
	return scope.Owner.Tenant
}

// readStarts returns the schedules and triggers of a tenant in a scope; an empty tenant means all
// tenants.
func (e *Engine) readStarts(ctx context.Context, tenant string, scope store.RunScope) (all starts, err error) {
	stored, err := e.settings.Store.Triggers(ctx, scope)
	if err != nil {
		return all, err
	}
	declared, err := e.settings.Source.Workflows(ctx, tenant)
	if err != nil {
		return all, err
	}
	states := make(map[string]*store.WorkflowTrigger)
	for _, t := range stored {
		if t.Declared {
			states[t.Owner.Tenant+"\x00"+t.Kind+"\x00"+t.ID] = t
		}
	}
	for _, w := range declared {
		owner := ownerOfWorkflow(w.Workflow)
		if !scope.Sees(owner, true) {
			continue
		}
		base := definition{flow: w.Workflow, owner: owner, declared: true}
		if err := all.addWorkflow(base, func(d *definition, kind string, paused bool) {
			d.paused = paused
			if state := states[owner.Tenant+"\x00"+kind+"\x00"+d.id]; state != nil {
				d.paused, d.createdAt, d.updatedAt = state.Paused, state.CreatedAt, state.UpdatedAt
			}
		}); err != nil {
			return all, err
		}
	}
	for _, t := range stored {
		if t.Declared || tenant != "" && t.Owner.Tenant != tenant {
			continue
		}
		w := new(workflow.Workflow)
		if err := json.Unmarshal(t.Definition, w); err != nil {
			return all, fmt.Errorf("read %s %s: %w", t.Kind, t.ID, err)
		}
		base := definition{key: t.ID, flow: w, owner: t.Owner, createdAt: t.CreatedAt, updatedAt: t.UpdatedAt}
		if err := all.addWorkflow(base, func(d *definition, _ string, _ bool) { d.paused = t.Paused }); err != nil {
			return all, err
		}
	}
	return all, nil
}

func ownerOfWorkflow(w *workflow.Workflow) store.Owner {
	tenant, subject := w.Owner()
	return store.Owner{Tenant: tenant, Subject: subject}
}

// addWorkflow adds the starts of a workflow. fill completes each; paused is the workflow's own
// setting.
func (all *starts) addWorkflow(base definition, fill func(d *definition, kind string, paused bool)) error {
	for i := range base.flow.Schedules {
		s := scheduled{definition: base, schedule: &base.flow.Schedules[i]}
		times, err := s.schedule.Times()
		if err != nil {
			return fmt.Errorf("schedule %s: %w", base.flow.ScheduleID(s.schedule), err)
		}
		s.id, s.times = base.flow.ScheduleID(s.schedule), times
		s.key = cmp.Or(base.key, s.id)
		fill(&s.definition, kindSchedule, s.schedule.Paused)
		all.schedules = append(all.schedules, s)
	}
	for i := range base.flow.Events {
		t := eventTrigger{definition: base, trigger: &base.flow.Events[i]}
		t.id = base.flow.TriggerID(t.trigger)
		t.key = cmp.Or(base.key, t.id)
		fill(&t.definition, kindEvent, t.trigger.Paused)
		all.triggers = append(all.triggers, t)
	}
	return nil
}
