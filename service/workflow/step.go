package workflow

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// advanceStep performs the next action of a step. It returns true if the run continues immediately;
// otherwise the run was saved.
func (a *activation) advanceStep(ctx context.Context, step *workflow.Step, state *StepState) (goOn bool, err error) {
	if a.run.TurnID != "" {
		return a.followTurn(ctx, step, state)
	}
	if now := a.now(); now.Before(state.RetryAt) {
		a.setDue(state.RetryAt)
		return false, a.save(ctx)
	}
	scope, err := a.scope()
	if err != nil {
		return false, err
	}
	if why, skip, err := a.skipReason(step, scope); err != nil {
		return a.failStep(ctx, state, err.Error())
	} else if skip {
		state.Status, state.Error, state.FinishedAt = StepSkipped, why, a.now()
		return a.nextStep(ctx)
	}
	if step.Tool != nil && !a.run.Shared { // caller-made, possibly when more was allowed
		err := a.settings.Source.CheckCall(ctx, a.run.Owner.Tenant, step.Tool.Name)
		switch found := diag.FromError(err); {
		case len(found) > 0:
			return a.failStep(ctx, state, found[0].Message)
		case errors.Is(err, service.ErrRevisionGone):
			return a.failStep(ctx, state, err.Error())
		case err != nil:
			return false, err
		}
	}
	asked, err := a.turnOf(step, state, scope)
	if err != nil {
		return a.failStep(ctx, state, err.Error())
	}
	return a.beginTurn(ctx, step, state, asked)
}

// nextStep commits the result of a step and moves to the next. The result of the last step is
// committed with the end of the run.
func (a *activation) nextStep(ctx context.Context) (goOn bool, err error) {
	a.state.At++
	a.run.TurnID, a.run.Status, a.run.Message = "", store.RunRunning, ""
	if a.state.At == len(a.steps) {
		return true, nil
	}
	a.setDue(a.now()) // if this process dies now
	return true, a.save(ctx)
}

// failStep ends a step and its run as failed.
func (a *activation) failStep(ctx context.Context, state *StepState, why string) (goOn bool, err error) {
	state.Status, state.Error, state.FinishedAt = StepFailed, why, a.now()
	return false, a.endRun(ctx, store.RunFailed, fmt.Sprintf("step %s: %s", state.ID, why))
}

// scope returns the current values of references.
func (a *activation) scope() (*workflow.Scope, error) {
	s := &workflow.Scope{Outputs: make(map[string]any)}
	var err error
	if s.Input, err = workflow.DecodeJSON(a.run.Input); err != nil {
		return nil, fmt.Errorf("read the input of the run: %w", err)
	}
	signal, err := json.Marshal(a.trigger.signal())
	if err == nil {
		s.Signal, err = workflow.DecodeJSON(signal)
	}
	for i := range a.state.Steps {
		if one := &a.state.Steps[i]; err == nil && one.Status == StepSucceeded {
			s.Outputs[one.ID], err = workflow.DecodeJSON(one.Output)
		}
	}
	return s, err
}

// skipReason reports whether a step is skipped, and why.
func (a *activation) skipReason(step *workflow.Step, scope *workflow.Scope) (why string, skip bool, err error) {
	uses := step.DependsOn()
	for i := range a.state.Steps {
		if one := &a.state.Steps[i]; one.Status == StepSkipped && slices.Contains(uses, one.ID) {
			return fmt.Sprintf("step %s was skipped", one.ID), true, nil
		}
	}
	if scope.Inputs, err = scope.EvaluateFields(step.Inputs); err != nil {
		return "", false, fmt.Errorf("inputs: %w", err)
	}
	if step.When == nil {
		return "", false, nil
	}
	holds, err := step.When.Holds(scope)
	if err != nil {
		return "", false, fmt.Errorf("when: %w", err)
	}
	return "its condition does not hold", !holds, nil
}

// beginTurn creates the turn of a step. If another process has already created it, the result is
// the same turn.
func (a *activation) beginTurn(ctx context.Context, step *workflow.Step, state *StepState, asked *stepTurnRequest) (goOn bool, err error) {
	ctx = telemetry.Extract(ctx, a.state.Trace)
	session, err := a.settings.Turns.CreateSession(ctx, a.caller(), asked.session)
	if errors.As(err, new(*store.ExistsError)) {
		session, err = a.settings.Turns.GetSession(ctx, a.caller(), asked.session.ID)
	}
	if err == nil {
		asked.turn.SessionID = session.ID
		_, err = a.settings.Turns.CreateTurn(ctx, a.caller(), asked.turn)
	}
	if isRefusal(err) {
		return a.failStep(ctx, state, err.Error())
	}
	if err != nil {
		return false, err
	}
	now := a.now()
	state.Attempt = max(1, state.Attempt)
	state.Status, state.SessionID, state.TurnID, state.Input, state.Error = StepRunning, session.ID, asked.turn.ID, asked.input, ""
	state.TimedFrom = now
	if state.StartedAt.IsZero() {
		state.StartedAt = now
	}
	a.run.TurnID, a.run.Status, a.run.Message = asked.turn.ID, store.RunRunning, ""
	a.setDue(now.Add(step.TimeLimit()))
	return false, a.save(ctx)
}

// isRefusal reports whether creating the turn would always fail.
func isRefusal(err error) bool {
	if err == nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return !errors.As(err, new(*store.BusyError))
}

// followTurn checks the turn of a step.
func (a *activation) followTurn(ctx context.Context, step *workflow.Step, state *StepState) (goOn bool, err error) {
	t, err := a.settings.Turns.GetTurn(ctx, a.caller(), a.run.TurnID)
	if errors.As(err, new(*service.NotFoundError)) {
		return a.failStep(ctx, state, "its turn was deleted")
	}
	if err != nil {
		return false, err
	}
	switch {
	case !t.Status.Live():
		return a.settleTurn(ctx, step, state, t)
	case t.Status == store.Waiting:
		return a.waitForPerson(ctx, state, t)
	case state.Status == StepWaiting: // somebody has answered
		state.Status, state.TimedFrom, a.run.Status, a.run.Message = StepRunning, a.now(), store.RunRunning, ""
	case !a.now().Before(state.TimedFrom.Add(step.TimeLimit())):
		return a.timeOutStep(ctx, step, state)
	}
	a.setDue(state.TimedFrom.Add(step.TimeLimit()))
	return false, a.save(ctx)
}

// waitForPerson records that a step waits, or fails the run if it must not.
func (a *activation) waitForPerson(ctx context.Context, state *StepState, t *service.Turn) (goOn bool, err error) {
	if !a.flow.Waits() {
		why := "it has to wait for a person, and nobody attends the run"
		if err := a.cancelTurn(ctx, t.ID, why); err != nil {
			return false, err
		}
		state.countTurn(t)
		return a.failStep(ctx, state, why)
	}
	state.Status, a.run.Status, a.run.Message = StepWaiting, store.RunWaiting, fmt.Sprintf("step %s waits for a person", state.ID)
	a.setDue(time.Time{})
	return false, a.save(ctx)
}

// timeOutStep ends a step because of its timeout.
func (a *activation) timeOutStep(ctx context.Context, step *workflow.Step, state *StepState) (goOn bool, err error) {
	why := fmt.Sprintf("it took longer than %s", step.TimeLimit())
	if err := a.cancelTurn(ctx, a.run.TurnID, why); err != nil {
		return false, err
	}
	t, err := a.settings.Turns.GetTurn(ctx, a.caller(), a.run.TurnID)
	if err != nil {
		return false, err
	}
	if t.Status == store.Succeeded { // it was in time after all
		return a.settleTurn(ctx, step, state, t)
	}
	state.countTurn(t)
	return a.retryOrFail(ctx, step, state, why)
}

// settleTurn makes the outcome of a turn the result of the step.
func (a *activation) settleTurn(ctx context.Context, step *workflow.Step, state *StepState, t *service.Turn) (goOn bool, err error) {
	state.countTurn(t)
	if t.Status != store.Succeeded || t.Outcome == nil {
		return a.retryOrFail(ctx, step, state, failureOf(t))
	}
	state.Output, err = outputOf(step, t.Outcome.Response)
	if err != nil {
		return a.failStep(ctx, state, err.Error())
	}
	state.Status, state.FinishedAt = StepSucceeded, a.now()
	a.run.TurnID = ""
	return a.nextStep(ctx)
}

// failureOf returns why a turn did not succeed.
func failureOf(t *service.Turn) string {
	if t.Outcome == nil {
		return "its turn was " + string(t.Status)
	}
	why := t.Outcome.Termination
	return cmp.Or(why.Detail, why.Code, "its turn was "+string(t.Status))
}

// retryOrFail starts the pause before the next attempt, unless there is none or it would repeat
// something that must not be repeated.
func (a *activation) retryOrFail(ctx context.Context, step *workflow.Step, state *StepState, why string) (goOn bool, err error) {
	if state.Attempt >= step.Attempts() {
		return a.failStep(ctx, state, why)
	}
	acted, err := a.hasActed(ctx, step, state.TurnID)
	if err != nil {
		return false, err
	}
	if acted {
		return a.failStep(ctx, state, why+"; not retried, because its effects must not be repeated")
	}
	state.RetryAt = a.now().Add(step.Retry.Pause(state.Attempt))
	state.Attempt++
	state.Status, state.Error, state.TurnID = StepPending, why, ""
	a.run.TurnID, a.run.Status = "", store.RunRunning
	a.run.Message = fmt.Sprintf("step %s failed and is tried again: %s", state.ID, why)
	a.setDue(state.RetryAt)
	return false, a.save(ctx)
}

// hasActed reports whether a turn may have had effects that must not be repeated. Idempotent calls
// also count: a tool step repeats them with the same idempotency key, but an agent might use other
// arguments.
func (a *activation) hasActed(ctx context.Context, step *workflow.Step, turnID string) (bool, error) {
	rows, err := a.settings.Store.Journal(ctx, turnID)
	if err != nil {
		return false, err
	}
	for i := range rows {
		var entry backend.JournalEntry
		if json.Unmarshal(rows[i].Entry, &entry) != nil {
			return true, nil
		}
		if entry.Effect != tools.Read && (entry.Effect != tools.Idempotent || step.Tool == nil) {
			return true, nil
		}
	}
	return false, nil
}

// countTurn adds the usage of a turn.
func (s *StepState) countTurn(t *service.Turn) {
	if t.Outcome == nil {
		return
	}
	s.Usage.Add(t.Outcome.Usage)
	if c := t.Outcome.Cost; c != nil {
		if s.Cost == nil {
			s.Cost = &event.Cost{Currency: c.Currency}
		}
		s.Cost.Amount += c.Amount
	}
}

// outputOf returns the outputs of a step: the JSON object or list in its answer, or else its text.
func outputOf(step *workflow.Step, response string) (json.RawMessage, error) {
	raw := bytes.TrimSpace([]byte(response))
	isJSON := len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') && json.Valid(raw)
	switch {
	case step.Agent != nil && step.Schema() != nil && !isJSON:
		return nil, errors.New("the answer is not the requested JSON object")
	case step.Agent != nil && step.Schema() == nil, !isJSON:
		return json.Marshal(map[string]string{"text": response})
	default:
		return raw, nil
	}
}
