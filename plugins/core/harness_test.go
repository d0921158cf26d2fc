package core_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
)

// planner is a plugin that is only its registration.
type planner func(r *plugins.Registrar)

func (p planner) Descriptor() plugins.Descriptor { return plugins.Descriptor{} }

func (p planner) Register(r *plugins.Registrar) error { p(r); return nil }

// schedule returns a hook that schedules an action.
func schedule(key string, payload any) plugins.Hook {
	return func(_ context.Context, c *plugins.PhaseContext) error { c.Schedule(key, payload); return nil }
}

// engine returns an engine over the runtime's own plugins for an agent, and more.
func engine(t testing.TB, agent *spec.Agent, more ...plugins.Plugin) *execution.Engine {
	t.Helper()
	var loaded []execution.Loaded
	for _, p := range more {
		loaded = append(loaded, execution.Loaded{ID: "p", Plugin: p})
	}
	env, errs := execution.Build(agent, append(loaded,
		execution.Loaded{ID: core.LoopActionsID, Plugin: core.LoopActions{}, Core: true},
		execution.Loaded{ID: core.MaxRoundsID, Plugin: core.MaxRounds{}, Core: true},
		execution.Loaded{ID: core.StopConditionsID, Plugin: core.NewStopConditions(agent.StopConditions), Core: true},
		execution.Loaded{ID: core.LoopDetectionID, Plugin: core.NewLoopDetection(agent.LoopDetection), Core: true},
		execution.Loaded{ID: core.ToolBudgetsID, Plugin: core.NewToolBudgets(agent.ToolBudgets), Core: true},
	), nil)
	if errs != nil {
		t.Fatal(errs)
	}
	e := execution.NewEngine(env, nil)
	e.Context.Stats = &plugins.Stats{}
	return e
}

// resumed returns an engine for the same agent that goes on where e is.
func resumed(t testing.TB, e *execution.Engine, agent *spec.Agent, more ...plugins.Plugin) *execution.Engine {
	t.Helper()
	s := e.Export()
	kept := struct {
		State execution.State
		Stats plugins.Stats
	}{s, *e.Context.Stats}
	data, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	kept.State, kept.Stats = execution.State{}, plugins.Stats{}
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	next := engine(t, agent, more...)
	if err := next.Restore(kept.State); err != nil {
		t.Fatal(err)
	}
	next.Context.Stats = &kept.Stats
	return next
}
