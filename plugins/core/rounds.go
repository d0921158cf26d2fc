package core

import (
	"context"
	"strconv"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
)

// MaxRounds is the plugin that enforces an agent's round limit.
type MaxRounds struct{}

var _ plugins.Plugin = MaxRounds{}

// Descriptor describes the plugin.
func (MaxRounds) Descriptor() plugins.Descriptor {
	return noSections("Ends a turn after max_rounds model calls.")
}

// Register adds the check, unless the agent's rounds are unlimited.
func (MaxRounds) Register(r *plugins.Registrar) error {
	holds := maxRounds(r.Agent().Rounds())
	if holds == nil {
		return nil
	}
	r.Hook(plugins.AfterInference, func(_ context.Context, p *plugins.PhaseContext) error {
		if t, stop := holds(p); stop {
			p.Stop(t)
		}
		return nil
	})
	return nil
}

// maxRounds holds for a turn that used up its rounds. An answer without tool
// calls ends the turn by itself, so a text given in the last round counts.
func maxRounds(limit int) condition {
	if limit == 0 {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		if p.Stats.Steps < limit || !p.Answer.HasToolCalls() {
			return event.Termination{}, false
		}
		return stopped(spec.StopMaxRounds, strconv.Itoa(limit)+" rounds"), true
	}
}

func stopped(code spec.StopType, detail string) event.Termination {
	return event.Termination{Type: event.Stopped, Code: string(code), Detail: detail}
}
