package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend/local"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

// describeOwn returns the types of the events of a path, in order.
func describeOwn(list []event.Event, path ...string) (types []event.Type) {
	for i := range list {
		if cmp.Equal(path, list[i].Path) {
			types = append(types, list[i].Data.Type())
		}
	}
	return types
}

// nested is a boss that asks a clerk, who asks an intern, who uses a tool.
func nested(t *testing.T, exec model.Executor) *runtime.AgentRuntime {
	t.Helper()
	return turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}},
		spec.Agent{ID: "clerk", Delegates: []string{"intern"}},
		spec.Agent{ID: "intern"},
	).WithTool("copy", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) {
		return tools.TextResult("copied"), nil
	})))
}

func nestedScripts() map[string][]turntest.Answer {
	return map[string][]turntest.Answer{
		"boss":   {turntest.AsksAgent("clerk"), {Text: "thanks"}},
		"clerk":  {turntest.AsksAgent("intern"), {Text: "sorted"}},
		"intern": {turntest.Calls("c", "copy", "{}"), {Text: "copied"}},
	}
}

func TestDelegatesAreRecordedInTheirCallersLog(t *testing.T) {
	rt := nested(t, turntest.Scripts(nestedScripts()))
	var log turntest.Events
	req := runtime.Prompt("boss", "go")
	req.DelegateEvents = true
	got, err := rt.Run(t.Context(), req, &log)
	if err != nil {
		t.Fatal(err)
	}
	list := log.List
	for i := range list {
		if list[i].Seq != uint64(i+1) || list[i].TurnID != got.TurnID || list[i].SessionID != got.SessionID {
			t.Errorf("event %d is %+v", i+1, list[i])
		}
		if list[i].Terminal() != (i == len(list)-1) {
			t.Errorf("event %d of %d is terminal: %t", i+1, len(list), list[i].Terminal())
		}
	}
	want := []event.Type{
		event.TypeRunStart, event.TypeStepStart, event.TypeToolCallStart, event.TypeToolCallReady, event.TypeInferenceComplete,
		event.TypeToolCallDone, event.TypeStepEnd,
		event.TypeStepStart, event.TypeTextDelta, event.TypeInferenceComplete, event.TypeStepEnd, event.TypeRunFinish,
	}
	if diff := cmp.Diff(want, describeOwn(list, "to-clerk", "to-intern")); diff != "" {
		t.Error(diff)
	}
	var starts []event.RunStart
	for i := range list {
		if d, ok := list[i].Data.(*event.RunStart); ok {
			starts = append(starts, *d)
		}
	}
	if len(starts) != 3 || starts[1].DelegateTurnID == "" || starts[1].ParentTurnID != got.TurnID || starts[1].ParentCallID != "to-clerk" ||
		starts[2].ParentTurnID != starts[1].DelegateTurnID || starts[2].ParentCallID != "to-intern" {
		t.Errorf("the turns begin with %+v", starts)
	}
	// Nothing of a delegate comes before its call has begun, or after it is done.
	checkNesting(t, list)
}

// checkNesting checks that events of a path lie between the beginning of its last call and
// the end of it, which are events of the path above.
func checkNesting(t *testing.T, list []event.Event) {
	t.Helper()
	open := make(map[string]bool)
	key := func(path []string, id string) string {
		return strings.Join(append(append([]string{}, path...), id), "/")
	}
	for i := range list {
		switch d := list[i].Data.(type) {
		case *event.ToolCallReady:
			open[key(list[i].Path, d.ID)] = true
		case *event.ToolCallDone:
			delete(open, key(list[i].Path, d.ID))
		}
		if path := list[i].Path; len(path) > 0 && !open[key(path[:len(path)-1], path[len(path)-1])] {
			t.Errorf("event %d, a %s of %v, is outside of its call", i+1, list[i].Data.Type(), path)
		}
	}
}

func TestDelegatesAreNotShownToThoseWhoDoNotAsk(t *testing.T) {
	rt := nested(t, turntest.Scripts(nestedScripts()))
	var log turntest.Events
	if _, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log); err != nil {
		t.Fatal(err)
	}
	turntest.CheckLog(t, log.List)
	if own := describeOwn(log.List); len(own) != len(log.List) {
		t.Errorf("%d of %d events are the turn's own", len(own), len(log.List))
	}
}

// What a turn used is broken down by agent, and the parts add up. So it is when the
// conversation changes hands, and not when one agent did it all.
func TestUsageIsBrokenDownByAgent(t *testing.T) {
	rt := nested(t, turntest.Scripts(nestedScripts()))
	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log)
	if err != nil {
		t.Fatal(err)
	}
	one := model.Usage{Input: got.Usage.Input / 6, Output: got.Usage.Output / 6}
	twice := one
	twice.Add(one)
	want := event.AgentUsages{
		{Agent: "boss", ModelID: "boss", ToolCalls: 1, Usage: twice}, {Agent: "clerk", ModelID: "clerk", ToolCalls: 1, Usage: twice},
		{Agent: "intern", ModelID: "intern", ToolCalls: 1, Usage: twice},
	}
	if diff := cmp.Diff(want, got.Agents); diff != "" {
		t.Error(diff)
	}
	last, _ := log.List[len(log.List)-1].Data.(*event.RunFinish)
	if diff := cmp.Diff(want, last.Agents); diff != "" {
		t.Error(diff)
	}
	var shown struct {
		ToolCalls int         `json:"tool_calls"`
		Usage     event.Usage `json:"usage"`
	}
	for i := range log.List {
		if d, ok := log.List[i].Data.(*event.ActivitySnapshot); ok {
			if err := json.Unmarshal(d.Content, &shown); err != nil {
				t.Fatal(err)
			}
		}
	}
	if shown.ToolCalls != 2 || shown.Usage.Total() != 4*one.Total() {
		t.Errorf("the activity shows %+v", shown)
	}

	alone, err := rt.Run(t.Context(), runtime.Prompt("intern", "go"), nil)
	if err == nil && len(alone.Agents) > 0 {
		t.Errorf("one agent did it all: %+v", alone.Agents)
	}
}

func TestHandoffsSplitUsage(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":  {turntest.Calls("c", "hand_off_to_clerk", "{}")},
		"clerk": {{Text: "here"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss", Handoffs: []string{"clerk"}}, spec.Agent{ID: "clerk"}))
	got, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var sum model.Usage
	for _, u := range got.Agents {
		sum.Add(u.Usage)
	}
	if len(got.Agents) != 2 || got.Agents[0].Agent != "boss" || got.Agents[1].Agent != "clerk" || sum != got.Usage {
		t.Errorf("%+v of %+v", got.Agents, got.Usage)
	}
}

// A call that may be repeated runs no agent, whose calls would be repeated with other keys.
func TestOnlyOnceToolsRunAgents(t *testing.T) {
	for _, effect := range []tools.Effect{tools.Read, tools.Idempotent, tools.Once} {
		var refused error
		asks := &effectTool{effect, func(ctx context.Context, call *tools.Call) (tools.Result, error) {
			_, refused = call.Host.Delegate(ctx, tools.DelegateRequest{AgentID: "clerk", Prompt: "help"})
			return tools.TextResult("asked"), nil
		}}
		exec := turntest.Scripts(map[string][]turntest.Answer{
			"boss": {turntest.Calls("c", "ask", "{}"), {Text: "thanks"}}, "clerk": {{Text: "helped"}},
		})
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss"}, spec.Agent{ID: "clerk"}).WithTool("ask", asks))
		if _, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), nil); err != nil {
			t.Fatal(err)
		}
		e, ok := errors.AsType[*local.DelegateEffectError](refused)
		if ok == (effect == tools.Once) || ok && (e.Tool != "ask" || e.Agent != "clerk") {
			t.Errorf("%s: %v", effect, refused)
		}
	}
}

// effectTool is a tool with an effect.
type effectTool struct {
	effect tools.Effect
	call   func(ctx context.Context, call *tools.Call) (tools.Result, error)
}

func (e *effectTool) Descriptor() tools.Descriptor {
	return tools.Descriptor{Effect: e.effect, Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (e *effectTool) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	return e.call(ctx, call)
}

// Several agents that one call runs are told apart by their paths.
func TestACallThatRunsSeveralAgentsHasAPathForEach(t *testing.T) {
	asks := turntest.ToolFunc(func(ctx context.Context, call *tools.Call) (tools.Result, error) {
		for range 3 {
			if _, err := call.Host.Delegate(ctx, tools.DelegateRequest{AgentID: "clerk", Prompt: "help"}); err != nil {
				return tools.Result{}, err
			}
		}
		return tools.TextResult("asked"), nil
	})
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss": {turntest.Calls("c", "ask", "{}"), {Text: "thanks"}}, "clerk": {{Text: "1"}, {Text: "2"}, {Text: "3"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss"}, spec.Agent{ID: "clerk"}).WithTool("ask", asks))
	var log turntest.Events
	req := runtime.Prompt("boss", "go")
	req.DelegateEvents = true
	if _, err := rt.Run(t.Context(), req, &log); err != nil {
		t.Fatal(err)
	}
	first := describeOwn(log.List, "c")
	for _, path := range []string{"c", "c#2", "c#3"} {
		if got := describeOwn(log.List, path); len(got) == 0 || len(got) != len(first) {
			t.Errorf("%s has %v", path, got)
		}
	}
}
