package core

import (
	"context"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
)

// MaxRounds is the plugin that enforces an agent's round limit.
type MaxRounds struct{}

var _ plugins.Plugin = MaxRounds{}

// Descriptor describes the plugin.
func (MaxRounds) Descriptor() plugins.Descriptor {
	return noSections("Ends a turn after max_rounds model calls, as on_max_rounds says.")
}

// Register adds the check, unless the agent's rounds are unlimited.
func (MaxRounds) Register(r *plugins.Registrar) error {
	limit, then := r.Agent().Rounds(), r.Agent().OnMaxRounds
	holds := maxRounds(limit)
	switch {
	case holds == nil:
		return nil
	case then == spec.MaxRoundsFinalizes:
		r.Hook(plugins.BeforeInference, finalizeAt(limit))
		return nil
	}
	r.Hook(plugins.AfterInference, func(_ context.Context, p *plugins.PhaseContext) error {
		t, stop := holds(p)
		if stop && then == spec.MaxRoundsFails {
			t.Type = event.BudgetExceeded
		}
		if stop {
			p.Stop(t)
		}
		return nil
	})
	return nil
}

// lastRoundText tells the model that it has to answer.
const lastRoundText = "No further tool calls are possible in this turn: give your final answer from what you know."

// finalizeAt makes the model answer without tools in the last round, and in any later one: an agent
// that takes over may have fewer rounds than have passed.
func finalizeAt(limit int) plugins.Hook {
	return func(_ context.Context, p *plugins.PhaseContext) error {
		if p.Stats.Steps < limit {
			return nil
		}
		p.Request().WithoutTools = true
		p.Request().AddContext(plugins.ContextMessage{Role: model.RoleUser, Text: lastRoundText, Target: plugins.TargetSuffix})
		return nil
	}
}
