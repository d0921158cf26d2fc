package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func TestADelegatesTokensAreItsParentsToo(t *testing.T) {
	exec := scripts(map[string][]answer{
		"boss":   {asksAgent("clerk"), {text: "thanks"}},
		"clerk":  {asksAgent("intern"), {text: "sorted"}},
		"intern": {{text: "copied"}},
	})
	rt := build(t, withAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}},
		spec.Agent{ID: "clerk", Delegates: []string{"intern"}},
		spec.Agent{ID: "intern"},
	))
	var log events
	got, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log)
	if err != nil {
		t.Fatal(err)
	}
	checkLog(t, log.list)
	if want := (model.Usage{Input: 50, Output: 5}); got.Usage != want || got.Steps != 2 {
		t.Errorf("the turn used %+v in %d steps", got.Usage, got.Steps)
	}
	if diff := cmp.Diff([]string{"to-clerk succeeded sorted"}, log.done()); diff != "" {
		t.Error(diff)
	}
	var states []string
	for i := range log.list {
		if d, ok := log.list[i].Data.(*event.ActivitySnapshot); ok {
			state, _, _ := strings.Cut(string(d.Content), `,"turn_id"`)
			states = append(states, d.MessageID+" "+state)
		}
	}
	want := []string{`to-clerk {"agent":"clerk","state":"running"}`, `to-clerk {"agent":"clerk","state":"succeeded"`}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
}

func TestADelegateSeesThePromptAlone(t *testing.T) {
	var job *backend.Job
	peer := &remote{execute: func(_ context.Context, j *backend.Job, _ backend.Host) (*backend.Result, error) {
		job = j
		return &backend.Result{Response: "hi"}, nil
	}}
	exec := scripts(map[string][]answer{"boss": {asksAgent("far"), {text: "thanks"}}})
	rt := build(t, withAgents(exec, spec.Agent{ID: "boss", Delegates: []string{"far"}}, far).WithBackend(factory{peer}))
	req := runtime.Prompt("boss", "secret")
	req.History = []model.Message{model.User("older"), model.Assistant("secrets")}
	req.Params = model.Params{Temperature: new(0.5)}
	if _, err := rt.Run(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]model.Message{model.User("help")}, job.Input); diff != "" || job.History != nil || job.Params != (model.Params{}) {
		t.Errorf("the delegate was given %+v", job)
	}
}

func TestADelegateThatFailsIsAnErrorForItsCaller(t *testing.T) {
	for _, tt := range []struct {
		name  string
		child answer
		want  string
	}{
		{"error", answer{err: &model.Error{Class: model.Provider, Message: "down"}}, "to-clerk failed agent clerk did not finish: error provider: provider: down"},
		{"silence", answer{}, "to-clerk succeeded agent clerk finished without an answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exec := scripts(map[string][]answer{"boss": {asksAgent("clerk"), {text: "thanks"}}, "clerk": {tt.child}})
			rt := build(t, withAgents(exec, spec.Agent{ID: "boss", Delegates: []string{"clerk"}}, spec.Agent{ID: "clerk"}))
			var log events
			got, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log)
			if err != nil || got.Response != "thanks" {
				t.Errorf("the turn came to %+v, %v", got, err)
			}
			if diff := cmp.Diff([]string{tt.want}, log.done()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestABlankPromptDoesNotStartADelegate(t *testing.T) {
	for _, args := range []string{`{}`, `{"prompt":""}`, `{"prompt":" \n\t "}`, `{"prompt":7}`, `{"prompt":"x","more":1}`} {
		exec := scripts(map[string][]answer{"boss": {calls("c", "agent_run_clerk", args), {text: "thanks"}}})
		rt := build(t, withAgents(exec, spec.Agent{ID: "boss", Delegates: []string{"clerk"}}, spec.Agent{ID: "clerk"}))
		var log events
		if _, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log); err != nil {
			t.Fatal(err)
		}
		if done := log.done(); len(done) != 1 || !strings.HasPrefix(done[0], "c failed tool_input_invalid: ") {
			t.Errorf("%s: the call came to %q", args, done)
		}
		if exec.asked["clerk"] != 0 {
			t.Errorf("%s: the delegate ran", args)
		}
	}
}

func TestACallBackIntoTheChainIsRefused(t *testing.T) {
	exec := scripts(map[string][]answer{
		"a": {asksAgent("b"), {text: "a is done"}},
		"b": {asksAgent("a"), asksAgent("b"), {text: "b is done"}},
	})
	var refusals []string
	spy := plugin(func(r *plugins.Registrar) {
		r.Hook(plugins.AfterToolExecute, func(_ context.Context, p *plugins.PhaseContext) error {
			refusals = append(refusals, model.PartsText(p.Result.Content))
			return nil
		})
	})
	rt := build(t, withAgents(exec,
		spec.Agent{ID: "a", Delegates: []string{"b"}},
		spec.Agent{ID: "b", Delegates: []string{"a", "b"}, PluginIDs: []string{"spy"}},
	).WithPlugin("spy", spy))
	got, err := rt.Run(t.Context(), runtime.Prompt("a", "go"), nil)
	if err != nil || got.Response != "a is done" {
		t.Fatalf("the turn came to %+v, %v", got, err)
	}
	want := []string{
		"agent a was not called: it is waiting for this call itself (a → b → a)",
		"agent b was not called: it is waiting for this call itself (a → b → b)",
	}
	if diff := cmp.Diff(want, refusals); diff != "" {
		t.Error(diff)
	}
}

func TestDelegatesMayBeNestedOnlySoDeep(t *testing.T) {
	const depth = 3
	var agents []spec.Agent
	for i := range depth + 2 {
		a := spec.Agent{ID: fmt.Sprintf("a%d", i)}
		if i <= depth {
			a.Delegates = []string{fmt.Sprintf("a%d", i+1)}
		}
		agents = append(agents, a)
	}
	exec := &answerer{answer: func(_ context.Context, upstream string, n int) answer {
		var i int
		fmt.Sscanf(upstream, "a%d", &i)
		if n == 0 && i <= depth {
			return asksAgent(fmt.Sprintf("a%d", i+1))
		}
		return answer{text: "reached " + upstream}
	}}
	rt := build(t, withAgents(exec, agents...).WithDelegationDepth(depth))
	if _, err := rt.Run(t.Context(), runtime.Prompt("a0", "go"), nil); err != nil {
		t.Fatal(err)
	}
	for i := range agents {
		want := 2
		if i == depth+1 {
			want = 0 // one deeper than is allowed
		}
		if got := exec.asked[agents[i].ID]; got != want {
			t.Errorf("agent %s was asked %d times, want %d", agents[i].ID, got, want)
		}
	}
}

func TestTheErrorOfARefusedDelegateIsTyped(t *testing.T) {
	var refused error
	probe := toolFunc(func(ctx context.Context, call *tools.Call) (tools.Result, error) {
		_, refused = call.Host.Delegate(ctx, tools.DelegateRequest{AgentID: "a", Prompt: "again"})
		return tools.Result{}, refused
	})
	rt := build(t, withAgents(scripts(map[string][]answer{"a": {calls("c", "probe", "{}"), {text: "done"}}}), spec.Agent{ID: "a"}).WithTool("probe", probe))
	var log events
	if _, err := rt.Run(t.Context(), runtime.Prompt("a", "go"), &log); err != nil {
		t.Fatal(err)
	}
	e, ok := errors.AsType[*runtime.DelegationError](refused)
	if !ok || e.Agent != "a" || e.Depth != 0 || !cmp.Equal(e.Chain, []string{"a"}) {
		t.Errorf("the error is %#v", refused)
	}
	if diff := cmp.Diff([]string{"c failed agent a was not called: it is waiting for this call itself (a → a)"}, log.done()); diff != "" {
		t.Error(diff)
	}
}

func TestCancellingATurnCancelsItsDelegates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(map[string]event.Reason)
		spy := plugin(func(r *plugins.Registrar) {
			r.Hook(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
				ended[p.Agent.ID] = p.Termination.Type
				return nil
			})
		})
		exec := &answerer{answer: func(ctx context.Context, upstream string, _ int) answer {
			switch upstream {
			case "boss":
				return asksAgent("clerk")
			case "clerk":
				return asksAgent("intern")
			}
			<-ctx.Done()
			return answer{}
		}}
		rt := build(t, withAgents(exec,
			spec.Agent{ID: "boss", Delegates: []string{"clerk"}, PluginIDs: []string{"spy"}},
			spec.Agent{ID: "clerk", Delegates: []string{"intern"}, PluginIDs: []string{"spy"}},
			spec.Agent{ID: "intern", PluginIDs: []string{"spy"}},
		).WithPlugin("spy", spy))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Second, cancel)
		begun := time.Now()
		var log events
		got, err := rt.Run(ctx, runtime.Prompt("boss", "go"), &log)
		checkLog(t, log.list)
		checkMessages(t, got.Messages)
		if got.Status != event.StatusCanceled || !errors.Is(err, context.Canceled) || time.Since(begun) != 30*time.Second {
			t.Errorf("the turn ended %s after %s with the error %v", got.Status, time.Since(begun), err)
		}
		want := map[string]event.Reason{"boss": event.Cancelled, "clerk": event.Cancelled, "intern": event.Cancelled}
		if diff := cmp.Diff(want, ended); diff != "" {
			t.Error(diff)
		}
		if got.Usage.Input != 20 {
			t.Errorf("the turn used %+v", got.Usage)
		}
	})
}

// lid is a gate that holds the delegates too.
type lid struct{ plugins.GateFunc }

func (l lid) Ceiling(ctx context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	return l.Check(ctx, p)
}

func TestADelegateIsHeldToWhatItsCallersMayDo(t *testing.T) {
	var asked []string
	forbids := plugin(func(r *plugins.Registrar) {
		r.ToolGate(lid{func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
			asked = append(asked, p.Agent.ID+" "+p.Call.Name)
			if p.Call.Name == "delete" {
				return plugins.Decision{Kind: plugins.Block, Reason: "the boss forbids it"}, nil
			}
			return plugins.Decision{}, nil
		}})
	})
	deleted := false
	remove := toolFunc(func(context.Context, *tools.Call) (tools.Result, error) {
		deleted = true
		return tools.TextResult("gone"), nil
	})
	var heard string
	spy := plugin(func(r *plugins.Registrar) {
		r.Hook(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
			heard = model.PartsText(p.Messages[len(p.Messages)-2].Parts[0].ToolResult.Content)
			return nil
		})
	})
	exec := scripts(map[string][]answer{
		"boss":   {asksAgent("clerk"), {text: "thanks"}},
		"clerk":  {asksAgent("intern"), {text: "tried"}},
		"intern": {calls("c", "delete", "{}"), {text: "tried"}},
	})
	rt := build(t, withAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}, PluginIDs: []string{"forbids"}},
		spec.Agent{ID: "clerk", Delegates: []string{"intern"}},
		spec.Agent{ID: "intern", PluginIDs: []string{"spy"}},
	).WithTool("delete", remove).WithPlugin("forbids", forbids).WithPlugin("spy", spy))
	if _, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), nil); err != nil {
		t.Fatal(err)
	}
	if deleted || heard != "the boss forbids it" {
		t.Errorf("deleted is %t, and the intern heard %q", deleted, heard)
	}
	want := []string{"boss agent_run_clerk", "clerk agent_run_intern", "intern delete"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// A delegate does not outlive the call that started it, whatever context the
// tool hands in.
func TestADelegateEndsWithItsCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	exec := &answerer{answer: func(ctx context.Context, upstream string, _ int) answer {
		if upstream == "boss" {
			return calls("c", "ask", "{}")
		}
		cancel()
		<-ctx.Done()
		return answer{}
	}}
	careless := toolFunc(func(_ context.Context, call *tools.Call) (tools.Result, error) {
		_, err := call.Host.Delegate(context.Background(), tools.DelegateRequest{AgentID: "clerk", Prompt: "help"})
		ended <- err
		return tools.Result{}, err
	})
	rt := build(t, withAgents(exec, spec.Agent{ID: "boss"}, spec.Agent{ID: "clerk"}).WithTool("ask", careless))
	if got, _ := rt.Run(ctx, runtime.Prompt("boss", "hello"), nil); got.Status != event.StatusCanceled {
		t.Errorf("the turn ended %s", got.Status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
