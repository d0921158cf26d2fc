package local

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// runCalls judges the calls of an answer as a batch and works on those that are not settled.
func (t *turn) runCalls(ctx context.Context) (stepResult, error) {
	if err := t.meter.Exceeded(); err != nil {
		return stepResult{}, err
	}
	if err := t.judgeBatch(ctx); err != nil {
		return stepResult{}, err
	}
	t.refuseExcluded()
	return t.workCalls(ctx)
}

// maxCalls is the maximum number of calls in one answer. Each takes a goroutine and several events,
// and has a result in the conversation.
const maxCalls = 128

// refuseExcluded settles calls of tools that plugins removed from the request.
func (t *turn) refuseExcluded() {
	for i := range t.calls {
		switch c := &t.calls[i]; {
		case c.phase.hasResult():
		case !t.inference.plan.Offers(c.Name) && !t.isOfBackend(c.Name):
			t.settleCall(c, tools.ErrorResult(fmt.Sprintf("the tool %q is not available now", clip.Text(c.Name))), event.CallFailed)
		}
	}
}

// judgeBatch lets the guards judge all calls of an answer together. Calls that they answer are not
// executed.
func (t *turn) judgeBatch(ctx context.Context) error {
	if !t.engine.JudgesBatches() {
		return nil
	}
	asked := make([]*model.ToolCall, len(t.calls))
	for i := range t.calls {
		asked[i] = t.calls[i].ToolCall
	}
	t.watch.beginPhase(plugins.ToolGate)
	d, err := t.engine.Batch(ctx, asked)
	t.watch.endPhase()
	if err != nil {
		return err
	}
	for i := range t.calls {
		if result, ok := d.Results[t.calls[i].ID]; ok {
			t.calls[i].skipped = true
			t.settleCall(&t.calls[i], result.Readable(), event.CallFailed)
		}
	}
	for _, data := range d.Events {
		t.host.Emit(data)
	}
	if d.Steer != "" {
		t.notes = append(t.notes, model.User(d.Steer))
	}
	t.withoutTools = t.withoutTools || d.Finalize
	return nil
}

// workCalls decides the calls without a result, executes the allowed ones, and keeps the results
// once every call has one.
func (t *turn) workCalls(ctx context.Context) (r stepResult, err error) {
	if t.agent.ToolExecution == spec.Sequential {
		r, err = t.oneByOne(ctx, t.calls)
	} else {
		r, err = t.runTogether(ctx, t.calls)
	}
	t.engine.Context.Call = nil
	if err == nil {
		err = backend.Ended(ctx)
	}
	if err == nil && r.course == goesOn && t.stop == nil && t.hasWaitingCalls() {
		return suspendTurn(), nil
	}
	t.keepResults()
	switch {
	case err != nil:
		return stepResult{}, err
	case r.course == goesOn && t.stop != nil:
		return endTurn(*t.stop), nil
	default:
		return r, nil
	}
}

// hasWaitingCalls reports whether a call waits for outside input.
func (t *turn) hasWaitingCalls() bool {
	return slices.ContainsFunc(t.calls, func(c call) bool { return c.phase == callWaiting })
}

// oneByOne runs the gates for each call in turn, so that they see the effects of earlier calls.
// If a call waits, the later ones wait for it.
func (t *turn) oneByOne(ctx context.Context, calls []call) (stepResult, error) {
	for i := range calls {
		r, err := t.decideCall(ctx, &calls[i])
		if r.course != goesOn || err != nil {
			return r, err
		}
		if c := &calls[i]; c.phase.isLetThrough() {
			if err := t.executeCalls(ctx, []*call{c}); err != nil {
				return stepResult{}, err
			}
		}
		if calls[i].phase == callWaiting {
			return stepResult{}, nil // workCalls finds the waiting call
		}
	}
	return stepResult{}, nil
}

// runTogether runs the gates for all calls, then executes the allowed ones concurrently; a serial
// tool's call runs alone, after them.
func (t *turn) runTogether(ctx context.Context, calls []call) (stepResult, error) {
	for i := range calls {
		if r, err := t.decideCall(ctx, &calls[i]); r.course != goesOn || err != nil {
			return r, err
		}
	}
	beside, alone := make([]*call, 0, len(calls)), []*call(nil)
	for i := range calls {
		switch c := &calls[i]; {
		case !c.phase.isLetThrough():
		case c.isSerial() && len(calls) > 1:
			alone = append(alone, c)
		default:
			beside = append(beside, c)
		}
	}
	if err := t.executeCalls(ctx, beside); err != nil {
		return stepResult{}, err
	}
	for i := range alone {
		if err := t.executeCalls(ctx, alone[i:i+1]); err != nil {
			return stepResult{}, err
		}
	}
	return stepResult{}, nil
}

func (c *call) isSerial() bool { return c.entry != nil && c.entry.Descriptor.Serial }

// decideCall settles a call that must not be executed, because the model was not offered such a
// tool or a gate blocked it. A call that has a result or waits for a missing answer is left
// unchanged.
func (t *turn) decideCall(ctx context.Context, c *call) (stepResult, error) {
	if err := backend.Ended(ctx); err != nil {
		return stepResult{}, err
	}
	if c.phase > callWaiting || c.phase == callWaiting && len(c.answers) == 0 {
		return stepResult{}, nil
	}
	if done := t.applyAnswers(c); done {
		return stepResult{}, nil
	}
	if c.entry = t.env.Tools.Get(c.Name); c.entry == nil {
		t.settleCall(c, tools.ErrorResult(t.unknownTool(c.Name)), event.CallFailed)
		return stepResult{}, nil
	}
	if t.isOfBackend(c.Name) {
		c.applyMove(moveAllow)
		return stepResult{}, nil
	}
	return t.gateCall(ctx, c)
}

// gateCall runs the gates for a call.
func (t *turn) gateCall(ctx context.Context, c *call) (stepResult, error) {
	t.showToHooks(c)
	t.watch.beginPhase(plugins.ToolGate)
	d := t.engine.Gate(ctx)
	t.watch.endPhase()
	switch d.Kind {
	case plugins.Allow:
		c.applyMove(moveAllow)
		return stepResult{}, t.runPhase(ctx, plugins.BeforeToolExecute)
	case plugins.SetResult:
		outcome := event.CallSucceeded
		if d.Result.IsError {
			outcome = event.CallFailed
		}
		t.settleCall(c, d.Result.Readable(), outcome)
	case plugins.Suspend:
		if d.Interaction == nil {
			d.Interaction = &interaction.Request{Message: d.Reason}
		}
		t.suspendCall(c, []*backend.Interaction{{Request: *d.Interaction}})
	case plugins.Block:
		t.settleCall(c, tools.ErrorResult(d.Reason).Readable(), event.CallFailed)
		if d.Terminate {
			return endTurn(blockedTermination(&d)), nil
		}
	}
	return stepResult{}, nil
}

// blockedTermination returns the termination of a turn that a gate ended.
func blockedTermination(d *plugins.Decision) event.Termination {
	return event.Termination{Type: event.Blocked, Code: d.Plugin, Detail: fmt.Sprintf("plugin %s: %s", d.Plugin, d.Reason)}
}
