package execution

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools"
)

// JudgesBatches reports whether there is any batch gate.
func (e *Engine) JudgesBatches() bool { return len(e.env.batchGates) > 0 }

// Batch calls the batch gates in order, each with the calls that earlier ones left, and commits
// their effects. On an error, a *HookError, it commits nothing.
func (e *Engine) Batch(ctx context.Context, calls []*model.ToolCall) (plugins.BatchDecision, error) {
	var all plugins.BatchDecision
	e.Context.Phase, e.Context.Now = plugins.ToolGate, time.Now()
	for i := range e.env.batchGates {
		left := withoutResult(&all, calls)
		if len(left) == 0 {
			break
		}
		d, err := e.askBatchGate(ctx, &e.env.batchGates[i], left)
		if err != nil {
			e.staged = staged{}
			return plugins.BatchDecision{}, err
		}
		mergeDecision(&all, d)
	}
	_, effects := e.commitStaged()
	e.runEffects(ctx, effects)
	return all, nil
}

// withoutResult returns the calls without a result.
func withoutResult(d *plugins.BatchDecision, calls []*model.ToolCall) []*model.ToolCall {
	left := make([]*model.ToolCall, 0, len(calls))
	for _, c := range calls {
		if _, answered := d.Results[c.ID]; !answered {
			left = append(left, c)
		}
	}
	return left
}

// mergeDecision adds another gate's decision on the remaining calls.
func mergeDecision(d *plugins.BatchDecision, other plugins.BatchDecision) {
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

func (e *Engine) askBatchGate(ctx context.Context, g *taggedBatchGate, calls []*model.ToolCall) (d plugins.BatchDecision, err error) {
	defer func() {
		if err != nil {
			err = &HookError{Plugin: g.owner, Phase: plugins.ToolGate, Err: err}
		}
	}()
	defer panics.Recover(&err)
	if d, err = g.gate(ctx, &e.Context, calls); err == nil {
		err = e.checkStaged()
	}
	return d, err
}
