package workflow

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// newRun returns a new run, in the current revision of its tenant; nil if the workflow is no longer
// declared there.
func (e *Engine) newRun(ctx context.Context, d *definition, id string, trigger *Trigger, input json.RawMessage, now time.Time) (*store.WorkflowRun, error) {
	flow, declaredID := d.flow, ""
	if d.declared {
		declaredID = d.flow.ID
	}
	current, revision, err := e.settings.Source.Begin(ctx, d.owner.Tenant, declaredID)
	switch {
	case err != nil:
		return nil, err
	case d.declared && current == nil:
		return nil, nil //nolint:nilnil // there is no run
	case d.declared:
		flow = current
	}
	began, err := json.Marshal(trigger)
	if err != nil {
		return nil, err
	}
	definition, err := json.Marshal(flow.Definition())
	if err != nil {
		return nil, err
	}
	return &store.WorkflowRun{
		ID: id, WorkflowID: flow.ID, Owner: d.owner, Shared: d.declared, Status: store.RunPending, Revision: revision,
		Definition: definition, Trigger: began, Input: input, Limit: flow.Limit(), DueAt: now, CreatedAt: now, UpdatedAt: now,
	}, nil
}

// createRuns creates runs, signals that they may begin, and returns the ids of the new ones.
func (e *Engine) createRuns(ctx context.Context, runs []*store.WorkflowRun) ([]string, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	ids, err := e.settings.Store.CreateRuns(ctx, runs, nil)
	if len(ids) > 0 {
		signal(e.news)
	}
	return ids, err
}
