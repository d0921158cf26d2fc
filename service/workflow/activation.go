package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
)

// activation is a run that this process looks at.
//
//	           limit reached
//	pending ──────────────────▶ pending
//	   │ begin
//	   ▼        a turn waits         an answer
//	running ────────────────▶ waiting ─────────▶ running
//	   │                          │
//	   ▼                          ▼
//	succeeded, failed, canceled
type activation struct {
	*Engine
	run     *store.WorkflowRun
	flow    *workflow.Workflow
	steps   []workflow.Step
	trigger Trigger
	state   State
}

// newActivation reads a run.
func (e *Engine) newActivation(r *store.WorkflowRun) (*activation, error) {
	a := &activation{Engine: e, run: r, flow: new(workflow.Workflow)}
	if err := json.Unmarshal(r.Definition, a.flow); err != nil {
		return nil, fmt.Errorf("read the workflow of the run: %w", err)
	}
	if err := json.Unmarshal(r.Trigger, &a.trigger); err != nil {
		return nil, fmt.Errorf("read what began the run: %w", err)
	}
	if len(r.State) > 0 {
		if err := json.Unmarshal(r.State, &a.state); err != nil {
			return nil, fmt.Errorf("read the state of the run: %w", err)
		}
	}
	a.steps = a.flow.AllSteps()
	for i := len(a.state.Steps); i < len(a.steps); i++ {
		a.state.Steps = append(a.state.Steps, StepState{ID: a.steps[i].ID, Status: StepPending})
	}
	return a, nil
}

// caller returns the owner of the run's turns.
func (a *activation) caller() service.Caller {
	return service.Caller{Tenant: a.run.Owner.Tenant, Subject: a.run.Owner.Subject}
}

// current returns the active step and its state; nil if all have ended.
func (a *activation) current() (*workflow.Step, *StepState) {
	if a.state.At >= len(a.steps) {
		return nil, nil
	}
	return &a.steps[a.state.At], &a.state.Steps[a.state.At]
}

// save commits the state of the run. The state is saved before the run continues.
func (a *activation) save(ctx context.Context) error {
	data, err := json.Marshal(&a.state)
	if err != nil {
		return err
	}
	a.run.State, a.run.UpdatedAt = data, a.now()
	err = a.settings.Store.SaveRun(ctx, a.run)
	if a.run.TurnID != "" {
		a.turns.add(a.run.TurnID) // it may have changed before its run was known
	}
	return err
}

// deadline returns when the run must have ended; zero means never.
func (a *activation) deadline() time.Time {
	if a.flow.Timeout == nil {
		return time.Time{}
	}
	return a.run.StartedAt.Add(a.flow.Timeout.Std())
}

func (a *activation) isOverdue() bool {
	end := a.deadline()
	return !end.IsZero() && !a.now().Before(end)
}

// setDue sets when the run is checked again, at its deadline at the latest.
func (a *activation) setDue(at time.Time) {
	if end := a.deadline(); !end.IsZero() && (at.IsZero() || end.Before(at)) {
		at = end
	}
	a.run.DueAt = at
}

// cancelTurn cancels a turn, if there is one.
func (a *activation) cancelTurn(ctx context.Context, id, why string) error {
	_, err := a.settings.Turns.CancelTurn(ctx, a.caller(), id, why)
	if errors.As(err, new(*service.NotFoundError)) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// endRun ends the run.
func (a *activation) endRun(ctx context.Context, status store.RunStatus, message string) error {
	now := a.now()
	a.run.Status, a.run.Message, a.run.TurnID, a.run.DueAt, a.run.FinishedAt = status, message, "", time.Time{}, now
	for i := range a.state.Steps {
		if s := &a.state.Steps[i]; s.Status == StepPending && status != store.RunSucceeded {
			s.Status = StepSkipped
		}
	}
	if err := a.save(ctx); err != nil {
		return err
	}
	a.meter.countEnd(ctx, a.run)
	if a.run.Limit > 0 {
		signal(a.news) // another one may begin
	}
	return nil
}
