package local

import (
	"context"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// runStep runs a step, or the rest of a saved one. In any case, all calls of its answer have
// results at its end, unless they wait for outside input.
func (t *turn) runStep(ctx context.Context) (r stepResult, err error) {
	defer panics.Recover(&err)
	begun := t.inStep
	if !begun {
		t.inStep = true
		t.stats.Steps++
		t.host.Emit(&event.StepStart{Step: t.stats.Steps, MessageID: t.ids.answerID(t.stats.Steps)})
	}
	ctx, span := t.span.StartStep(ctx, t.stats.Steps, t.agent.ID)
	r, err = t.completeStep(ctx, begun)
	span.End(err)
	c := &t.engine.Context
	c.Answer, c.Call, c.Result = nil, nil, nil
	if err != nil || r.course != suspends {
		t.keepResults()
	}
	t.inStep = false
	t.host.Emit(&event.StepEnd{Step: t.stats.Steps})
	return r, err
}

// completeStep does the work of a step, or the rest of it, and runs its last phase.
func (t *turn) completeStep(ctx context.Context, begun bool) (r stepResult, err error) {
	defer panics.Recover(&err)
	if begun {
		r, err = t.resumeCalls(ctx)
	} else {
		r, err = t.runInference(ctx)
	}
	if err != nil {
		return stepResult{}, err
	}
	if err := t.finishStep(ctx); err != nil {
		return stepResult{}, err
	}
	return r, nil
}

// runInference calls the model once and runs the tools it requests.
func (t *turn) runInference(ctx context.Context) (stepResult, error) {
	if err := t.runPhase(ctx, plugins.StepStart); err != nil {
		return stepResult{}, err
	}
	if err := t.runPhase(ctx, plugins.BeforeInference); err != nil {
		return stepResult{}, err
	}
	answer, err := t.inference.requestAnswer(ctx)
	if err != nil {
		return stepResult{}, err
	}
	answer.ID = t.ids.answerID(t.stats.Steps)
	return t.settleAnswer(ctx, answer)
}

// settleAnswer keeps an answer and carries out its calls. It keeps the answer before anything can
// end the turn, so that shown text is never lost.
func (t *turn) settleAnswer(ctx context.Context, said model.Message) (stepResult, error) {
	t.transcript = append(t.transcript, said)
	answer := &t.transcript[len(t.transcript)-1]
	t.reason = t.inference.answer.Reason
	if text := answer.Text(); text != "" {
		t.response = text
	}
	t.calls = callsOf(answer)
	t.engine.Context.Answer = answer
	if err := t.runPhase(ctx, plugins.AfterInference); err != nil {
		return stepResult{}, err
	}
	switch {
	case t.stop != nil:
		t.keepResults()
		return endTurn(*t.stop), nil
	case len(t.calls) > 0 && t.withoutTools:
		t.keepResults() // the model was told not to call any
		return t.concludeTurn(ctx)
	case len(t.calls) > 0:
		return t.runCalls(ctx)
	case t.inference.answer.Reason == model.FinishContentFilter:
		return stepResult{}, &model.Error{Class: model.ContentFiltered, Message: "the provider withheld the answer"}
	default:
		return t.concludeTurn(ctx)
	}
}

// finishStep runs the last phase of a step and shows what its plugins remember.
func (t *turn) finishStep(ctx context.Context) error {
	if err := t.runPhase(ctx, plugins.StepEnd); err != nil {
		return err
	}
	t.showState()
	return nil
}
