package workflow

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// advanceRun advances a run as far as possible. If it fails, the run is retried later.
func (e *Engine) advanceRun(ctx context.Context, r *store.WorkflowRun) {
	err := e.tryAdvance(ctx, r)
	if err == nil || ctx.Err() != nil || errors.As(err, new(*store.StateError)) {
		return // saved, or changed by another writer, who triggers a new look
	}
	e.logError("advancing run failed; will retry", err, zap.String("workflow", r.WorkflowID), zap.String("run", r.ID))
	known, err := e.settings.Store.GetRun(ctx, store.RunScope{All: true}, r.Owner.Tenant, r.ID)
	if err != nil || !known.Status.Live() {
		return // its lease ends
	}
	known.DueAt = e.now().Add(stuckPause)
	if err := e.settings.Store.SaveRun(ctx, known); err != nil && !errors.As(err, new(*store.StateError)) {
		e.logError("releasing run failed; its lease will expire", err, zap.String("run", r.ID))
	}
}

func (e *Engine) tryAdvance(ctx context.Context, r *store.WorkflowRun) (err error) {
	defer panics.Recover(&err)
	a, err := e.newActivation(r)
	if err != nil {
		return e.failUnreadable(ctx, r, err)
	}
	return a.advance(ctx)
}

// failUnreadable ends a run with an unreadable part.
func (e *Engine) failUnreadable(ctx context.Context, r *store.WorkflowRun, why error) error {
	now := e.now()
	r.Status, r.Message, r.TurnID, r.DueAt, r.UpdatedAt, r.FinishedAt = store.RunFailed, why.Error(), "", time.Time{}, now, now
	return e.settings.Store.SaveRun(ctx, r)
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

// startTrace starts the trace of the run's turns.
func (a *activation) startTrace(ctx context.Context) http.Header {
	if rt := a.settings.Turns.Runtime(); rt != nil {
		ctx = rt.Telemetry().WorkflowRun(ctx, a.run.WorkflowID, a.run.ID, string(a.trigger.Kind))
	}
	header := make(http.Header)
	telemetry.Inject(ctx, header)
	return header
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
