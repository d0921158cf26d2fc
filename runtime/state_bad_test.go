package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"pgregory.net/rapid"
)

// rich is an agent that uses all that a state has a place for.
var rich = spec.Agent{
	ID: "clerk", PluginIDs: []string{"cautious", "counting"}, Handoffs: []string{"other"}, SystemPrompt: "You are a clerk.",
	Budgets: &spec.Budgets{MaxModelCalls: new(20), MaxToolCalls: new(20), MaxTokens: new(10_000)}, MaxRounds: new(12),
	ToolBudgets:   map[string]spec.ToolBudget{"good": {MaxCalls: 3}},
	LoopDetection: &spec.LoopDetection{ConsecutiveThreshold: new(2), HardCutoffThreshold: new(3)},
	OutputSchema:  &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)},
}

// richRuntime is a runtime with that agent, whose model begins in the middle of
// its script.
func richRuntime(t fataler, agent spec.Agent, script ...turntest.Answer) *runtime.AgentRuntime {
	t.Helper()
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": script, "other": {{Text: `{}`}}})
	rt, err := turntest.WithAgents(exec, agent, spec.Agent{ID: "other"}).
		WithPlugin("cautious", turntest.Cautious).WithPlugin("counting", counting).
		WithTool("risky", turntest.Risky).WithTool("good", turntest.Risky).WithTool("waits", waits).WithTool("survey", survey).Build()
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// richState is the JSON form of a state in which nearly every field is set.
func richState(t fataler) []byte {
	t.Helper()
	both := turntest.Answer{Text: "well", Calls: slices.Concat(
		turntest.Calls("r", "risky", `{"a":1}`).Calls, turntest.Calls("g", "good", `{}`).Calls, turntest.Calls("w", "waits", `{}`).Calls,
		turntest.Calls("s", "survey", `{}`).Calls, turntest.Calls("n", "nobody", `{"a":`).Calls)}
	req := runtime.Prompt("clerk", "go")
	req.TurnID = "turn"
	rt := richRuntime(t, rich, turntest.Calls("g", "good", `{}`), both)
	got, err := rt.Run(context.Background(), req, nil)
	if err != nil || got.State == nil {
		t.Fatal(err)
	}
	req.State = got.State
	req.Answers = []interaction.Answer{{Target: "q2", Action: interaction.Resume, Result: json.RawMessage(`2`)}}
	if got, err = rt.Run(context.Background(), req, nil); err != nil || got.State == nil {
		t.Fatal(err)
	}
	s := got.State
	s.Handoff, s.Continuations, s.Repairs = "other", 1, 1
	s.Plugins.Actions = []execution.ScheduledAction{{Key: "nobody's", Payload: json.RawMessage(`1`)}}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mutated returns a JSON value with something in it changed.
func mutated(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || rapid.IntRange(0, 7).Draw(t, "here") == 0 {
			break
		}
		out := maps.Clone(v)
		key := rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "key")
		if rapid.IntRange(0, 7).Draw(t, "drop") == 0 {
			delete(out, key)
		} else {
			out[key] = mutated(t, v[key])
		}
		return out
	case []any:
		if len(v) == 0 || rapid.IntRange(0, 7).Draw(t, "here") == 0 {
			break
		}
		out := slices.Clone(v)
		i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
		switch rapid.IntRange(0, 7).Draw(t, "list") {
		case 0:
			return slices.Delete(out, i, i+1)
		case 1:
			return append(out, v[i])
		case 2:
			slices.Reverse(out)
		default:
			out[i] = mutated(t, v[i])
		}
		return out
	}
	return rapid.SampledFrom([]any{
		nil, true, 0, -1, 1, 1e18, -1e18, "", "x", "clerk", "other", "nobody", "r", "w", "q1", "suspended", "succeeded", "failed", "assistant", "tool", "tool_call",
		map[string]any{}, []any{}, []any{nil}, map[string]any{"x": nil}, []any{map[string]any{}}, "replay_tool_call", "use_decision_as_tool_result",
	}).Draw(t, "value")
}

func TestAStateThatWasTamperedWithIsRefusedOrGoesOnSanely(t *testing.T) {
	whole := richState(t)
	rapid.Check(t, func(t *rapid.T) {
		var form any
		if err := json.Unmarshal(whole, &form); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			form = mutated(t, form)
		}
		data, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		state, err := backend.DecodeState(data)
		if err != nil {
			return // refused
		}
		rt := richRuntime(t, rich, turntest.Answer{Text: `{}`}, turntest.Answer{Text: `{}`}, turntest.Answer{Text: `{}`})
		goesOnSanely(t, rt, state)
	})
}

// goesOnSanely goes on from a state until its turn ends, answering everything.
func goesOnSanely(t *rapid.T, rt *runtime.AgentRuntime, state *backend.State) {
	req := runtime.Prompt("clerk", "go")
	req.TurnID, req.State = "turn", state
	for range 20 {
		req.Answers = nil
		for _, request := range req.State.Interactions() {
			if slices.ContainsFunc(req.Answers, func(r interaction.Answer) bool { return r.Target == request.ID }) {
				continue
			}
			req.Answers = append(req.Answers, turntest.Yes(request.ID))
		}
		begun, finished, seq := 0, 0, req.State.Seq
		got, err := rt.Run(context.Background(), req, event.SinkFunc(func(ev event.Event) {
			seq++
			if ev.Seq != seq {
				t.Errorf("event %d has the number %d", seq, ev.Seq)
			}
			if ev.Data.Type() == event.TypeRunStart {
				begun++
			}
			if ev.Terminal() {
				finished++
			}
		}))
		if panicked, ok := errors.AsType[*backend.PanicError](err); ok {
			t.Fatalf("%v\n%s", err, panicked.Stack)
		}
		if got == nil {
			if begun+finished != 0 {
				t.Errorf("a turn that cannot begin has %d beginnings and %d ends: %v", begun, finished, err)
			}
			return
		}
		if begun != 1 || finished != 1 {
			t.Errorf("the turn has %d beginnings and %d ends", begun, finished)
		}
		if got.State == nil {
			return
		}
		req.State = kept(t, got.State)
	}
	t.Fatal("the turn does not end")
}

func TestTheStateOfATurnOutlivesWhatItNeeds(t *testing.T) {
	data := richState(t)
	state := func() *backend.State {
		s, err := backend.DecodeState(data)
		if err != nil {
			t.Fatal(err)
		}
		s.Handoff = ""
		return s
	}
	all := func(s *backend.State) (answers []interaction.Answer) {
		for _, request := range s.Interactions() {
			answers = append(answers, turntest.Yes(request.ID))
		}
		return answers
	}
	req := func(s *backend.State) runtime.Request {
		r := runtime.Prompt("clerk", "go")
		r.TurnID, r.State, r.Answers = "turn", s, all(s)
		return r
	}
	t.Run("the agent is gone", func(t *testing.T) {
		exec := turntest.Scripts(map[string][]turntest.Answer{"other": {{Text: "x"}}})
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "other"}))
		got, err := rt.Run(t.Context(), req(state()), nil)
		if got != nil || err == nil || !strings.Contains(err.Error(), "clerk") {
			t.Errorf("it came to %+v, %v", got, err)
		}
	})
	t.Run("its tools and plugins are gone", func(t *testing.T) {
		exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "{}"}}, "other": {{Text: "x"}}})
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}, spec.Agent{ID: "other"}))
		got, err := rt.Run(t.Context(), req(state()), nil)
		if err != nil || got.Status != event.StatusSucceeded {
			t.Fatalf("it ended by %+v, %v", got.Termination, err)
		}
		turntest.CheckMessages(t, got.Messages)
		results := got.Messages[len(got.Messages)-2].Parts
		for i, want := range []string{`there is no tool "risky"`, "done it", `there is no tool "waits"`, `there is no tool "survey"`, `there is no tool "nobody"`} {
			if text := results[i].ToolResult.Content[0].Text; text != want {
				t.Errorf("result %d is %q, want %q", i, text, want)
			}
		}
	})
	t.Run("its tool waits otherwise", func(t *testing.T) {
		exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "{}"}}, "other": {{Text: "x"}}})
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}, spec.Agent{ID: "other"}).WithTool("risky", turntest.Risky).WithTool("waits", survey).
			WithTool("survey", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { panic("what?") })))
		got, err := rt.Run(t.Context(), req(state()), nil)
		if err != nil || got.Status != event.StatusSucceeded {
			t.Fatalf("it ended by %+v, %v", got.Termination, err)
		}
		turntest.CheckMessages(t, got.Messages)
	})
	t.Run("the agent it goes to is gone", func(t *testing.T) {
		s := state()
		s.Handoff = "nobody"
		got, err := richRuntime(t, rich, turntest.Answer{Text: "{}"}).Run(t.Context(), req(s), nil)
		if err == nil || got.Termination.Type != event.Blocked || got.Termination.Code != "hand_off" {
			t.Errorf("it ended by %+v, %v", got.Termination, err)
		}
		turntest.CheckMessages(t, got.Messages)
	})
	for _, version := range []int{0, 2, -1} {
		s := state()
		s.Version = version
		if got, err := richRuntime(t, rich).Run(t.Context(), req(s), nil); got != nil || err == nil || !strings.Contains(err.Error(), "version") {
			t.Errorf("version %d: %+v, %v", version, got, err)
		}
	}
	for _, broken := range []string{``, `{}`, `null`, `[]`, `{"version":1}`, string(data[:len(data)/2]), `{"version":"1","agent":"clerk"}`,
		`{"version":1,"agent":"clerk","messages":[{"role":"assistant","parts":[{"type":"tool_call"}]}],"calls":[{"id":"x"}]}`,
		`{"version":1,"agent":"clerk","messages":[{"role":"tool","parts":[{"type":"tool_result","tool_result":{"content":[{"type":"image"}]}}]}]}`,
		`{"version":1,"agent":"clerk","notes":[{"role":"user","parts":[{"type":"reasoning"}]}]}`,
	} {
		if _, err := backend.DecodeState([]byte(broken)); err == nil {
			t.Errorf("%.40q is taken for a state", broken)
		}
	}
}
