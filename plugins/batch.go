package plugins

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// BatchGate judges all tool calls of an answer at once, before the gates are
// asked about each. Unlike a Gate it may write state; the turn it ends with
// Finalize, not with Stop. An error, or a panic, fails the turn.
type BatchGate func(ctx context.Context, p *PhaseContext, calls []*model.ToolCall) (BatchDecision, error)

// BatchDecision is what a batch gate makes of the calls. The zero value leaves
// them all to the gates.
type BatchDecision struct {
	// Results are the results of the calls that are not executed, by call id.
	Results map[string]tools.Result
	// Events are shown behind those results.
	Events []event.Data
	// Steer is something that the model alone is told, with the next request.
	Steer string
	// Finalize lets the model answer once more, without tools, and ends the
	// turn.
	Finalize bool
}

// JudgesBatches reports whether there is any batch gate.
func (e *Engine) JudgesBatches() bool { return len(e.env.batchGates) > 0 }

// Batch asks the batch gates in order, each about the calls that those before it
// left, and commits what they did. On an error, a *HookError, nothing is
// committed.
func (e *Engine) Batch(ctx context.Context, calls []*model.ToolCall) (BatchDecision, error) {
	var all BatchDecision
	e.Context.Phase, e.Context.Now = ToolGate, time.Now()
	for i := range e.env.batchGates {
		left := all.leaves(calls)
		if len(left) == 0 {
			break
		}
		d, err := e.judge(ctx, &e.env.batchGates[i], left)
		if err != nil {
			e.staged = staged{}
			return BatchDecision{}, err
		}
		all.add(d)
	}
	_, effects := e.commit()
	e.handOn(ctx, effects)
	return all, nil
}

// leaves returns the calls that have no result.
func (d *BatchDecision) leaves(calls []*model.ToolCall) []*model.ToolCall {
	left := make([]*model.ToolCall, 0, len(calls))
	for _, c := range calls {
		if _, answered := d.Results[c.ID]; !answered {
			left = append(left, c)
		}
	}
	return left
}

// add takes in what another gate made of the calls that are left.
func (d *BatchDecision) add(other BatchDecision) {
	for id, result := range other.Results {
		if d.Results == nil {
			d.Results = make(map[string]tools.Result, len(other.Results))
		}
		d.Results[id] = result
	}
	if d.Steer != "" && other.Steer != "" {
		d.Steer += "\n"
	}
	d.Steer += other.Steer
	d.Events = append(d.Events, other.Events...)
	d.Finalize = d.Finalize || other.Finalize
}

func (e *Engine) judge(ctx context.Context, g *taggedBatchGate, calls []*model.ToolCall) (d BatchDecision, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
		if err != nil {
			err = &HookError{Plugin: g.owner, Phase: ToolGate, Err: err}
		}
	}()
	if d, err = g.gate(ctx, &e.Context, calls); err == nil {
		err = e.check()
	}
	return d, err
}
