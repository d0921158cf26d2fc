package runtime_test

import (
	"context"
	"errors"
	stdruntime "runtime"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"pgregory.net/rapid"
)

// mishap is what goes wrong at some point of a random turn.
type mishap struct {
	at     int // the event at which it happens
	cancel bool
	hook   plugins.Phase // the phase in which a hook fails
	fails  bool
}

// TestEveryTurnEndsOnceAndAnswersItsCalls plays turns of random models, tools
// and mishaps, and checks what every turn keeps.
func TestEveryTurnEndsOnceAndAnswersItsCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"good", "bad", "panics", "exits", "serial", "gated", "unknown"})
		args := rapid.SampledFrom([]string{`{}`, `null`, ``, `{"a":`, `[]`, `{"a":1}`})
		ids := rapid.SampledFrom([]string{"", "x", "y", "z"})
		var script []turntest.Answer
		for range rapid.IntRange(1, 5).Draw(t, "answers") {
			a := turntest.Answer{Text: rapid.SampledFrom([]string{"", "hm", "well"}).Draw(t, "text")}
			if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				a.Err = &model.Error{Class: rapid.SampledFrom([]model.ErrorClass{model.Provider, model.Unauthorized, model.Canceled}).Draw(t, "class")}
			}
			for range rapid.IntRange(0, 4).Draw(t, "calls") {
				a.Calls = append(a.Calls, model.ToolCall{
					ID: ids.Draw(t, "id"), Name: names.Draw(t, "tool"), Arguments: []byte(args.Draw(t, "args")),
				})
			}
			script = append(script, a)
		}
		m := mishap{
			at: rapid.IntRange(0, 40).Draw(t, "at"), cancel: rapid.Bool().Draw(t, "cancel"),
			fails: rapid.Bool().Draw(t, "hook fails"), hook: rapid.SampledFrom(plugins.Phases()).Draw(t, "hook"),
		}
		agent := spec.Agent{
			ID: "a", PluginIDs: []string{"p"}, MaxRounds: new(rapid.IntRange(0, 4).Draw(t, "rounds")),
			ToolExecution: rapid.SampledFrom([]spec.ToolExecution{spec.Parallel, spec.Sequential}).Draw(t, "mode"),
		}
		play(t, agent, script, m)
	})
}

func play(t *rapid.T, agent spec.Agent, script []turntest.Answer, m mishap) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log turntest.Events
	seen := 0
	troubled := func() bool { return m.fails && seen >= m.at }
	serial := &tools.Func[struct{}, string]{Serial: true, Run: func(context.Context, struct{}) (string, error) { return "ok", nil }}
	rt, err := turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"a": script}), agent).
		WithPlugin("p", turntest.Plugin(func(r *plugins.Registrar) {
			if m.hook != plugins.ToolGate {
				r.Hook(m.hook, func(context.Context, *plugins.PhaseContext) error {
					if troubled() {
						return errors.New("trouble")
					}
					return nil
				})
			}
			r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
				if p.Call.Name == "gated" {
					return plugins.Decision{Kind: plugins.Block, Reason: "no", Terminate: troubled()}, nil
				}
				return plugins.Decision{}, nil
			}))
		})).
		WithTool("serial", serial).
		WithTool("gated", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("ok"), nil })).
		WithTool("good", turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
			c.Host.Progress("working")
			return tools.TextResult("ok"), nil
		})).
		WithTool("bad", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, errors.New("bad") })).
		WithTool("panics", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { panic("bad") })).
		WithTool("exits", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) {
			stdruntime.Goexit()
			return tools.Result{}, nil
		})).
		Build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := rt.Run(ctx, runtime.Prompt("a", "go"), event.SinkFunc(func(ev event.Event) {
		log.Emit(ev)
		if seen++; m.cancel && seen == m.at {
			cancel()
		}
	}))
	turntest.CheckLog(t, log.List)
	turntest.CheckMessages(t, got.Messages)
	finish := log.List[len(log.List)-1].Data.(*event.RunFinish)
	if finish.Status != got.Status || finish.Termination != got.Termination || finish.Steps != got.Steps {
		t.Errorf("the log ends with %+v, the result with %+v", finish, got)
	}
	if bad := got.Status == event.StatusFailed || got.Status == event.StatusCanceled; bad != (err != nil) {
		t.Errorf("the turn ended %s with the error %v", got.Status, err)
	}
	if got.Status == event.StatusCanceled && ctx.Err() == nil && !canceledByModel(script) {
		t.Errorf("nobody canceled the turn that ended by %+v", got.Termination)
	}
	if agent.Rounds() > 0 && got.Steps > agent.Rounds() {
		t.Errorf("the turn took %d steps of %d", got.Steps, agent.Rounds())
	}
}

func canceledByModel(script []turntest.Answer) bool {
	for _, a := range script {
		if e, ok := errors.AsType[*model.Error](a.Err); ok && e.Class == model.Canceled {
			return true
		}
	}
	return false
}
