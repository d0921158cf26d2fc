package core

import (
	"context"
	"fmt"
	"maps"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// toolBudgets is the plugin that limits the calls of individual tools in a turn.
type toolBudgets struct{ budgets map[string]spec.ToolBudget }

var _ plugins.Plugin = (*toolBudgets)(nil)

// NewToolBudgets returns the plugin for tool budgets by tool id.
func NewToolBudgets(budgets map[string]spec.ToolBudget) plugins.Plugin {
	return &toolBudgets{budgets: budgets}
}

// Descriptor describes the plugin.
func (*toolBudgets) Descriptor() plugins.Descriptor {
	return noSections("Bounds how often single tools are called in a turn.")
}

// Register adds the check.
func (b *toolBudgets) Register(r *plugins.Registrar) error {
	if len(b.budgets) > 0 {
		r.StateKey(attemptsKey)
		r.BatchGate(b.checkBatch)
	}
	return nil
}

// attemptsKey counts the requested calls of each tool with a budget.
var attemptsKey = plugins.NewKey[map[string]int]("runtime.tool_attempts", plugins.ScopeRun)

const exceededText = "This call was not made: tool %s may be called %d times in a turn, and that is used up. Go on with what you know."

// checkBatch counts the calls, including those that are not made.
func (b *toolBudgets) checkBatch(_ context.Context, p *plugins.PhaseContext, calls []*model.ToolCall) (d plugins.BatchDecision, err error) {
	var counts map[string]int
	for _, c := range calls {
		budget, bounded := b.budgets[c.Name]
		if !bounded {
			continue
		}
		if counts == nil {
			counts = make(map[string]int, len(b.budgets))
			maps.Copy(counts, attemptsKey.Get(p))
		}
		counts[c.Name]++
		if counts[c.Name] <= budget.MaxCalls {
			continue
		}
		if d.Results == nil {
			d.Results = make(map[string]tools.Result, len(calls))
		}
		d.Results[c.ID] = tools.ErrorResult(fmt.Sprintf(exceededText, c.Name, budget.MaxCalls))
		d.Events = append(d.Events, &event.ToolBudgetExceeded{ID: c.ID, Tool: c.Name, MaxCalls: budget.MaxCalls, Call: counts[c.Name]})
	}
	if counts != nil {
		attemptsKey.Set(p, counts)
	}
	return d, nil
}
