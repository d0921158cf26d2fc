package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawScript draws what a model answers.
func drawScript(t *rapid.T) []turntest.Answer {
	names := rapid.SampledFrom([]string{"good", "bad", "risky", "waits", "unknown", "bounded"})
	args := rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{"a":`})
	var script []turntest.Answer
	for range rapid.IntRange(1, 6).Draw(t, "answers") {
		a := turntest.Answer{Text: rapid.SampledFrom([]string{"", "hm"}).Draw(t, "text")}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			a.Calls = append(a.Calls, model.ToolCall{Name: names.Draw(t, "tool"), Arguments: []byte(args.Draw(t, "args"))})
		}
		script = append(script, a)
	}
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		script = append(script, turntest.Answer{Text: "half", Err: &model.Error{Class: model.Unauthorized}})
	}
	return script
}

// counting is a plugin whose state decides what it does.
var counted = plugins.NewKey[int]("test.counted", plugins.ScopeRun)

var counting = turntest.Plugin(func(r *plugins.Registrar) {
	r.StateKey(counted)
	r.Hook(plugins.StepEnd, func(_ context.Context, p *plugins.PhaseContext) error {
		counted.Set(p, counted.Get(p)+1)
		if counted.Get(p) == 5 {
			p.Stop(event.Termination{Type: event.BehaviorRequested, Code: "counted"})
		}
		return nil
	})
})

// waits asks once, and answers with what it is told.
var waits = turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
	if c.Resumed == nil {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{}}, State: json.RawMessage(`7`)}}, nil
	}
	return tools.TextResult(string(c.Resumed.State) + string(c.Resumed.Answers[0].Result)), nil
})

// driven runs a turn to its end, answering everything with yes; with stops it
// stops between any two steps and goes on from the state's JSON.
func driven(t *rapid.T, agent spec.Agent, script []turntest.Answer, stops bool) (*runtime.Result, error) {
	rt, err := turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"a": script}), agent).
		WithPlugin("cautious", turntest.Cautious).WithPlugin("counting", counting).
		WithTool("risky", turntest.Risky).WithTool("waits", waits).WithTool("bounded", turntest.Risky).WithTool("good", turntest.Risky).
		WithTool("bad", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, errors.New("bad") })).
		Build()
	if err != nil {
		t.Fatal(err)
	}
	req := runtime.Prompt("a", "go")
	req.TurnID = "turn"
	if stops {
		req.Checkpoint = func(context.Context, *backend.State) error { return backend.ErrYield }
	}
	finishes := 0
	sink := event.SinkFunc(func(ev event.Event) {
		if ev.Terminal() && ev.Data.(*event.RunFinish).Status != event.StatusWaiting {
			finishes++
		}
	})
	for range 100 {
		got, err := rt.Run(context.Background(), req, sink)
		if got == nil {
			t.Fatal(err)
		}
		if got.State == nil {
			if finishes != 1 {
				t.Errorf("%d events end the turn", finishes)
			}
			return got, err
		}
		req.State, req.Answers = kept(t, got.State), nil
		for _, request := range got.Interactions {
			req.Answers = append(req.Answers, turntest.Yes(request.ID))
		}
	}
	t.Fatal("the turn does not end")
	return nil, nil
}

// outcome is what must not depend on where a turn was stopped.
func outcome(t *rapid.T, r *runtime.Result, err error) string {
	for i := range r.Journal {
		r.Journal[i].Began, r.Journal[i].Duration = time.Time{}, 0
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	data, jsonErr := json.MarshalIndent(map[string]any{
		"termination": r.Termination, "response": r.Response, "messages": r.Messages, "steps": r.Steps,
		"usage": r.Usage, "journal": r.Journal, "session": r.Session, "error": text, "reason": r.FinishReason,
	}, "", " ")
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	return string(data)
}

func TestATurnComesToTheSameWhereverItIsStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := drawScript(t)
		agent := spec.Agent{
			ID: "a", PluginIDs: []string{"cautious", "counting"},
			MaxRounds:     new(rapid.IntRange(0, 5).Draw(t, "rounds")),
			ToolExecution: rapid.SampledFrom([]spec.ToolExecution{spec.Parallel, spec.Sequential}).Draw(t, "mode"),
			ToolBudgets:   map[string]spec.ToolBudget{"bounded": {MaxCalls: rapid.IntRange(0, 2).Draw(t, "tool budget")}},
			LoopDetection: &spec.LoopDetection{ConsecutiveThreshold: new(2), HardCutoffThreshold: new(3)},
		}
		if rapid.Bool().Draw(t, "budgets") {
			agent.Budgets = &spec.Budgets{
				MaxModelCalls: new(rapid.IntRange(1, 6).Draw(t, "model calls")), MaxToolCalls: new(rapid.IntRange(0, 6).Draw(t, "tool calls")),
			}
		}
		whole, err := driven(t, agent, script, false)
		want := outcome(t, whole, err)
		turntest.CheckMessages(t, whole.Messages)
		pieces, err := driven(t, agent, script, true)
		if diff := cmp.Diff(want, outcome(t, pieces, err)); diff != "" {
			t.Errorf("stopped at every step it comes to something else (-whole +pieces):\n%s", diff)
		}
	})
}
