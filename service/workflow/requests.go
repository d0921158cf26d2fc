package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
	"github.com/google/uuid"
)

// This file decides for all surfaces what callers may see and change: their tenant's declared
// workflows, and their own. A caller limited to some agents sees workflows only if it may use all
// of their agents. All others appear not to exist.

// NotFoundError means that something does not exist or is hidden from the caller.
type NotFoundError struct {
	// Kind is schedule, trigger or run.
	Kind, ID string
}

// Error names the missing record.
func (e *NotFoundError) Error() string { return fmt.Sprintf("workflow %s %q not found", e.Kind, e.ID) }

// LimitError means that a tenant's callers have reached the limit of schedules and event triggers.
type LimitError struct{ Limit int }

// Error describes what to do about it.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the tenant has %d schedules and event triggers, which is the most that callers may make: delete one", e.Limit)
}

// checkLimit returns a *LimitError if a tenant's callers have reached the limit of schedules and
// event triggers. Concurrent requests may exceed the limit by a few.
func (e *Engine) checkLimit(ctx context.Context, tenant string) error {
	if e.settings.MaxStarts == 0 {
		return nil
	}
	all, err := e.settings.Store.Triggers(ctx, store.RunScope{All: true})
	if err != nil {
		return err
	}
	made := 0
	for _, t := range all {
		if t.Owner.Tenant == tenant && len(t.Definition) > 0 {
			made++
		}
	}
	if made >= e.settings.MaxStarts {
		return &LimitError{e.settings.MaxStarts}
	}
	return nil
}

// DeclaredError means that something cannot be changed because the configuration declares it.
type DeclaredError struct{ Kind, ID string }

// Error describes what to do about it.
func (e *DeclaredError) Error() string {
	return fmt.Sprintf("workflow %s %q is declared in the configuration: change it there, or pause it", e.Kind, e.ID)
}

// Start is a schedule or an event trigger in the callers' form. Exactly one of Schedule and Event
// is set.
type Start struct {
	ID string
	// key is the id in the store.
	key      string
	Workflow *workflow.Workflow
	Schedule *workflow.Schedule
	Event    *workflow.EventTrigger
	Paused   bool
	Declared bool
	// NextRunAt is when a schedule is next due; zero for a paused one.
	NextRunAt            time.Time
	CreatedAt, UpdatedAt time.Time
}

// Run is a run in the callers' form.
type Run struct {
	store.WorkflowRun
	Trigger Trigger
	// Steps are the states of the steps, and Metadata is the workflow's metadata of some steps, by
	// id. Lists omit both unless the query requests whole runs.
	Steps    []StepState
	Metadata map[string]json.RawMessage
}

// runScope returns the scope of the caller's visible runs.
func runScope(caller service.Caller) (store.RunScope, error) {
	if caller.IsOperator() {
		return store.RunScope{All: true}, nil
	}
	if caller.Tenant == "" || caller.Subject == "" {
		return store.RunScope{}, service.ErrNoCaller
	}
	return store.RunScope{Owner: store.Owner{Tenant: caller.Tenant, Subject: caller.Subject}}, nil
}

// mayUse reports whether a caller may use all agents of a workflow.
func mayUse(caller service.Caller, w *workflow.Workflow) bool {
	steps := w.AllSteps()
	return !slices.ContainsFunc(steps, func(s workflow.Step) bool { return s.Agent != nil && !caller.Agents.Has(s.Agent.Agent) })
}

// view returns a start in the callers' form.
func (d *definition) view() *Start {
	return &Start{ID: d.id, key: d.key, Workflow: d.flow, Paused: d.paused, Declared: d.declared, CreatedAt: d.createdAt, UpdatedAt: d.updatedAt}
}

// ListStarts returns the schedules or else the event triggers that the caller sees.
func (e *Engine) ListStarts(ctx context.Context, caller service.Caller, schedules bool) (list []*Start, err error) {
	scope, err := runScope(caller)
	if err != nil {
		return nil, err
	}
	all, err := e.listStarts(ctx, scope)
	if err != nil {
		return nil, err
	}
	if schedules {
		for i := range all.schedules {
			s := &all.schedules[i]
			v := s.view()
			if v.Schedule = s.schedule; !s.paused {
				v.NextRunAt = s.times.Next(e.now()).UTC()
			}
			list = append(list, v)
		}
	} else {
		for i := range all.triggers {
			v := all.triggers[i].view()
			v.Event = all.triggers[i].trigger
			list = append(list, v)
		}
	}
	return slices.DeleteFunc(list, func(s *Start) bool { return !mayUse(caller, s.Workflow) }), nil
}

// GetStart returns a schedule or an event trigger. The error is a *NotFoundError.
func (e *Engine) GetStart(ctx context.Context, caller service.Caller, schedule bool, id string) (*Start, error) {
	list, err := e.ListStarts(ctx, caller, schedule)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(s *Start) bool { return s.ID == id }); i >= 0 {
		return list[i], nil
	}
	return nil, notFound(kindOf(schedule), id)
}

func notFound(kind, id string) error {
	if kind == kindEvent {
		kind = "trigger"
	}
	return &NotFoundError{kind, id}
}

// Save creates or replaces a caller's workflow with one schedule or event trigger. Its runs
// belong to the caller. The errors are a diagnostic of an invalid workflow, a *NotFoundError, a
// *DeclaredError, a *LimitError and a *store.ExistsError.
func (e *Engine) Save(ctx context.Context, caller service.Caller, id string, w *workflow.Workflow, paused, isNew bool) (*Start, error) {
	schedule := len(w.Schedules) > 0
	kind := kindOf(schedule)
	if err := service.CheckID(kind, id); err != nil {
		return nil, err
	}
	w.ID, w.Tenant, w.Subject = id, caller.Tenant, caller.Subject
	if err := e.settings.Source.Check(ctx, caller.Tenant, w); err != nil {
		return nil, err
	}
	if !mayUse(caller, w) {
		return nil, &service.InvalidError{Field: "target", Problem: "names an agent that does not exist"}
	}
	now := e.now()
	t := &store.WorkflowTrigger{ID: storedID(caller, id), Kind: kind, Owner: store.Owner{Tenant: caller.Tenant, Subject: caller.Subject}, Paused: paused, CreatedAt: now, UpdatedAt: now}
	if known, err := e.GetStart(ctx, caller, schedule, id); err == nil {
		if known.Declared {
			return nil, &DeclaredError{kind, id}
		}
		if isNew {
			return nil, &store.ExistsError{Kind: kind, ID: id}
		}
		t.ID, t.CreatedAt = known.key, known.CreatedAt
	} else if !isNew || !errors.As(err, new(*NotFoundError)) {
		return nil, err
	}
	if isNew {
		if err := e.checkLimit(ctx, caller.Tenant); err != nil {
			return nil, err
		}
	}
	var err error
	if t.Definition, err = json.Marshal(w); err != nil {
		return nil, err
	}
	err = e.saveMade(ctx, caller, t, id, isNew)
	if errors.As(err, new(*store.ExistsError)) {
		err = &store.ExistsError{Kind: kind, ID: id}
	}
	if err != nil {
		return nil, err
	}
	signal(e.changed)
	return e.GetStart(ctx, caller, schedule, id)
}

// saveMade stores a schedule or trigger that a caller creates. If its subject already has one with
// that id and with agents that the caller may not use, the new one is stored beside it.
func (e *Engine) saveMade(ctx context.Context, caller service.Caller, t *store.WorkflowTrigger, id string, isNew bool) error {
	err := e.settings.Store.SaveTrigger(ctx, t, isNew)
	if caller.Agents == nil || !errors.As(err, new(*store.ExistsError)) {
		return err
	}
	if _, hidden := e.GetStart(ctx, caller, t.Kind == kindSchedule, id); !errors.As(hidden, new(*NotFoundError)) {
		return err
	}
	t.ID += idSeparator + uuid.NewString()
	return e.settings.Store.SaveTrigger(ctx, t, true)
}

// storedID returns the store's id of a schedule or trigger that a caller creates. It differs from
// the id of a record of another caller under the same id.
func storedID(caller service.Caller, id string) string {
	return id + idSeparator + caller.Subject
}

// idSeparator never occurs in ids that callers choose.
const idSeparator = "\x1f"

// Delete deletes a schedule or an event trigger that the caller created.
func (e *Engine) Delete(ctx context.Context, caller service.Caller, schedule bool, id string) error {
	kind := kindOf(schedule)
	s, err := e.GetStart(ctx, caller, schedule, id)
	if err != nil {
		return err
	}
	if s.Declared {
		return &DeclaredError{kind, id}
	}
	scope, err := runScope(caller)
	if err != nil {
		return err
	}
	err = e.settings.Store.DeleteTrigger(ctx, scope, s.Workflow.Tenant, kind, s.key)
	if errors.Is(err, store.ErrNotFound) {
		err = notFound(kind, id)
	}
	signal(e.changed)
	return err
}

func kindOf(schedule bool) string {
	if schedule {
		return kindSchedule
	}
	return kindEvent
}

// Pause pauses or resumes a schedule or an event trigger. Events and due times during the pause
// start no run, even after it.
func (e *Engine) Pause(ctx context.Context, caller service.Caller, schedule bool, id string, paused bool) (*Start, error) {
	kind := kindOf(schedule)
	s, err := e.GetStart(ctx, caller, schedule, id)
	if err != nil {
		return nil, err
	}
	tenant, subject := s.Workflow.Owner()
	t := &store.WorkflowTrigger{
		ID: s.key, Kind: kind, Owner: store.Owner{Tenant: tenant, Subject: subject}, Declared: s.Declared, Paused: paused, CreatedAt: s.CreatedAt, UpdatedAt: e.now(),
	}
	if !s.Declared {
		if t.Definition, err = json.Marshal(s.Workflow); err != nil {
			return nil, err
		}
	}
	if err := e.settings.Store.SaveTrigger(ctx, t, false); err != nil {
		return nil, err
	}
	signal(e.changed)
	return e.GetStart(ctx, caller, schedule, id)
}

// RunQuery selects a page of runs.
type RunQuery struct {
	// WorkflowID and Status restrict the runs if set.
	WorkflowID, Status string
	// After is the next value of the previous page. Limit is the page size; 0 means 50.
	After string
	Limit int
	// Whole returns the runs in the form of GetRun.
	Whole bool
}

// toStore converts the query to the store's form.
func (q *RunQuery) toStore() (store.RunQuery, error) {
	status := store.RunStatus(q.Status)
	switch status {
	case "", store.RunPending, store.RunRunning, store.RunWaiting, store.RunSucceeded, store.RunFailed, store.RunCanceled:
	default:
		return store.RunQuery{}, &service.InvalidError{Field: "status", Problem: "use pending, running, waiting, succeeded, failed or canceled"}
	}
	if q.Limit < 0 || q.Limit > store.MaxPage {
		return store.RunQuery{}, &service.InvalidError{Field: "limit", Problem: fmt.Sprintf("must be 1 to %d", store.MaxPage)}
	}
	return store.RunQuery{WorkflowID: q.WorkflowID, Status: status, Page: store.Page{After: q.After, Limit: q.Limit}}, nil
}

// ListRuns returns a page of the runs that the caller sees, newest first.
func (e *Engine) ListRuns(ctx context.Context, caller service.Caller, query RunQuery) (list []*Run, next string, err error) {
	q, err := query.toStore()
	if err != nil {
		return nil, "", err
	}
	if q.Scope, err = runScope(caller); err != nil {
		return nil, "", err
	}
	q.Whole = query.Whole || caller.Agents != nil
	page, err := e.settings.Store.ListRuns(ctx, q)
	if err != nil {
		return nil, "", err
	}
	for _, r := range page.Runs {
		if !runIsVisible(caller, r) {
			continue
		}
		v, err := e.viewListed(r, query.Whole)
		if err != nil {
			return nil, "", err
		}
		list = append(list, v)
	}
	return list, page.Next, nil
}

// viewListed returns a run of a list.
func (e *Engine) viewListed(r *store.WorkflowRun, whole bool) (*Run, error) {
	if whole {
		return e.viewRun(r)
	}
	v := &Run{WorkflowRun: *r}
	v.Definition, v.Input, v.State = nil, nil, nil
	return v, json.Unmarshal(r.Trigger, &v.Trigger)
}

// runIsVisible reports whether a caller may use all agents of a run.
func runIsVisible(caller service.Caller, r *store.WorkflowRun) bool {
	if caller.Agents == nil {
		return true
	}
	w := new(workflow.Workflow)
	return json.Unmarshal(r.Definition, w) == nil && mayUse(caller, w)
}

// readRun returns a run that is visible to the caller.
func (e *Engine) readRun(ctx context.Context, caller service.Caller, id string) (*store.WorkflowRun, store.RunScope, error) {
	scope, err := runScope(caller)
	if err != nil {
		return nil, scope, err
	}
	tenant := scope.Owner.Tenant
	if scope.All {
		tenant = workflow.DefaultTenant
	}
	r, err := e.settings.Store.GetRun(ctx, scope, tenant, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !runIsVisible(caller, r) {
		err = &NotFoundError{"run", id}
	}
	return r, scope, err
}

// GetRun returns a run with its steps. The error is a *NotFoundError.
func (e *Engine) GetRun(ctx context.Context, caller service.Caller, id string) (*Run, error) {
	r, _, err := e.readRun(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return e.viewRun(r)
}

// viewRun returns a run with its steps.
func (e *Engine) viewRun(r *store.WorkflowRun) (*Run, error) {
	a, err := e.newActivation(r)
	if err != nil {
		return nil, err
	}
	v := &Run{WorkflowRun: *r, Trigger: a.trigger, Steps: a.state.Steps, Metadata: make(map[string]json.RawMessage)}
	for i := range a.steps {
		v.Metadata[a.steps[i].ID] = a.steps[i].Metadata
	}
	return v, nil
}

// Cancel requests the cancellation of a run. The errors are a *NotFoundError, and a
// *store.StateError for an ended run.
func (e *Engine) Cancel(ctx context.Context, caller service.Caller, id, reason string) (*Run, error) {
	r, scope, err := e.readRun(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	if reason == "" {
		reason = "canceled"
	}
	if _, err := e.settings.Store.CancelRun(ctx, scope, r.Owner.Tenant, id, reason, e.now()); err != nil {
		return nil, err
	}
	signal(e.news)
	signal(e.looks)
	return e.GetRun(ctx, caller, id)
}

// Interactions returns the pending interactions of a run.
func (e *Engine) Interactions(ctx context.Context, caller service.Caller, id string) ([]*service.Interaction, error) {
	r, _, err := e.readRun(ctx, caller, id)
	if err != nil || r.TurnID == "" {
		return nil, err
	}
	return e.settings.Turns.ListInteractions(ctx, ownerOf(r), store.InteractionQuery{TurnID: r.TurnID, State: store.InteractionPending})
}

// Answer answers an interaction of a run.
func (e *Engine) Answer(ctx context.Context, caller service.Caller, id string, answer interaction.Answer) (*service.Interaction, error) {
	r, _, err := e.readRun(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	if r.TurnID == "" {
		return nil, &store.StateError{Kind: "run", ID: id, State: string(r.Status), Want: "answered"}
	}
	return e.settings.Turns.AnswerInteraction(ctx, ownerOf(r), r.TurnID, answer)
}

// ownerOf returns the owner of a run's turns.
func ownerOf(r *store.WorkflowRun) service.Caller {
	return service.Caller{Tenant: r.Owner.Tenant, Subject: r.Owner.Subject}
}
