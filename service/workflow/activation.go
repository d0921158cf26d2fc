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

// advance advances the run as far as possible.
func (a *activation) advance(ctx context.Context) error {
	if a.run.CancelReason != "" {
		return a.cancelRun(ctx)
	}
	if a.run.Status == store.RunPending {
		if begun, err := a.beginRun(ctx); err != nil || !begun {
			return err
		}
	}
	for {
		if a.isOverdue() {
			return a.timeOutRun(ctx)
		}
		step, state := a.current()
		if step == nil {
			return a.endRun(ctx, store.RunSucceeded, "")
		}
		goOn, err := a.advanceStep(ctx, step, state)
		if err != nil || !goOn {
			return err
		}
	}
}

// beginRun starts the run, unless the workflow's concurrency limit is reached.
func (a *activation) beginRun(ctx context.Context) (begun bool, err error) {
	a.run.Status, a.run.StartedAt = store.RunRunning, a.now()
	a.state.Trace = a.startTrace(ctx)
	err = a.save(ctx)
	if err == nil {
		a.meter.countBegin(ctx, a.run, &a.trigger)
		return true, nil
	}
	if !errors.Is(err, store.ErrRunLimit) {
		return false, err
	}
	a.run.Status, a.run.StartedAt = store.RunPending, time.Time{}
	if c := a.flow.Concurrency; c == nil || c.OnLimit != workflow.SkipRun {
		return false, nil // it is due when another one ends
	}
	return false, a.endRun(ctx, store.RunCanceled, fmt.Sprintf("%d runs of the workflow are under way already", a.run.Limit))
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

// timeOutRun ends the run because of its timeout.
func (a *activation) timeOutRun(ctx context.Context) error {
	why := fmt.Sprintf("the run took longer than %s", a.flow.Timeout)
	if err := a.stopStep(ctx, StepFailed, why); err != nil {
		return err
	}
	return a.endRun(ctx, store.RunFailed, why)
}

// cancelRun ends a run after a cancel request.
func (a *activation) cancelRun(ctx context.Context) error {
	if err := a.stopStep(ctx, StepCanceled, a.run.CancelReason); err != nil {
		return err
	}
	return a.endRun(ctx, store.RunCanceled, a.run.CancelReason)
}

// stopStep ends the current step and its turn. A process that died before it could record the turn
// may have created it.
func (a *activation) stopStep(ctx context.Context, as StepStatus, why string) error {
	_, state := a.current()
	if state == nil || a.run.Status == store.RunPending {
		return nil
	}
	if err := a.cancelTurn(ctx, a.turnID(state.ID, max(1, state.Attempt)), why); err != nil {
		return err
	}
	if err := a.cancelTurn(ctx, a.turnID(state.ID, state.Attempt+1), why); err != nil {
		return err
	}
	if a.run.TurnID != "" {
		if t, err := a.settings.Turns.GetTurn(ctx, a.caller(), a.run.TurnID); err == nil {
			state.countTurn(t)
		}
	}
	state.Status, state.Error, state.FinishedAt = as, why, a.now()
	return nil
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
