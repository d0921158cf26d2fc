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
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func TestADelegatesTokensAreItsParentsToo(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":   {turntest.AsksAgent("clerk"), {Text: "thanks"}},
		"clerk":  {turntest.AsksAgent("intern"), {Text: "sorted"}},
		"intern": {{Text: "copied"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}},
		spec.Agent{ID: "clerk", Delegates: []string{"intern"}},
		spec.Agent{ID: "intern"},
	))
	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log)
	if err != nil {
		t.Fatal(err)
	}
	turntest.CheckLog(t, log.List)
	if want := (model.Usage{Input: 50, Output: 5}); got.Usage != want || got.Steps != 2 {
		t.Errorf("the turn used %+v in %d steps", got.Usage, got.Steps)
	}
	if diff := cmp.Diff([]string{"to-clerk succeeded sorted"}, log.Done()); diff != "" {
		t.Error(diff)
	}
	var states []string
	for i := range log.List {
		if d, ok := log.List[i].Data.(*event.ActivitySnapshot); ok {
			state, _, _ := strings.Cut(string(d.Content), `,"steps"`)
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
	peer := &turntest.Remote{ExecuteFunc: func(_ context.Context, j *backend.Job, _ backend.Host) (*backend.Result, error) {
		job = j
		return &backend.Result{Outcome: event.Outcome{Response: "hi"}}, nil
	}}
	exec := turntest.Scripts(map[string][]turntest.Answer{"boss": {turntest.AsksAgent("far"), {Text: "thanks"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss", Delegates: []string{"far"}}, turntest.Far).WithBackend(turntest.Factory{Backend: peer}))
	req := runtime.Prompt("boss", "secret")
	req.History = []model.Message{model.User("older"), model.Assistant("secrets")}
	req.Params = model.Params{Temperature: new(0.5)}
	if _, err := rt.Run(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]model.Message{model.User("help")}, job.Input); diff != "" || job.History != nil || !job.Params.IsZero() {
		t.Errorf("the delegate was given %+v", job)
	}
}

func TestADelegateThatFailsIsAnErrorForItsCaller(t *testing.T) {
	for _, tt := range []struct {
		name  string
		child turntest.Answer
		want  string
	}{
		{"error", turntest.Answer{Err: &model.Error{Class: model.Provider, Message: "down"}}, "to-clerk failed agent clerk did not finish: error provider: provider: down"},
		{"silence", turntest.Answer{}, "to-clerk failed agent clerk did not finish: error empty_answer: empty_answer: the answer has no text, tool call or refusal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exec := turntest.Scripts(map[string][]turntest.Answer{"boss": {turntest.AsksAgent("clerk"), {Text: "thanks"}}, "clerk": {tt.child}})
			rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss", Delegates: []string{"clerk"}}, spec.Agent{ID: "clerk"}))
			var log turntest.Events
			got, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log)
			if err != nil || got.Response != "thanks" {
				t.Errorf("the turn came to %+v, %v", got, err)
			}
			if diff := cmp.Diff([]string{tt.want}, log.Done()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestABlankPromptDoesNotStartADelegate(t *testing.T) {
	for _, args := range []string{`{}`, `{"prompt":""}`, `{"prompt":" \n\t "}`, `{"prompt":7}`, `{"prompt":"x","more":1}`} {
		exec := turntest.Scripts(map[string][]turntest.Answer{"boss": {turntest.Calls("c", "agent_run_clerk", args), {Text: "thanks"}}})
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss", Delegates: []string{"clerk"}}, spec.Agent{ID: "clerk"}))
		var log turntest.Events
		if _, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log); err != nil {
			t.Fatal(err)
		}
		if done := log.Done(); len(done) != 1 || !strings.HasPrefix(done[0], "c failed tool_input_invalid: ") {
			t.Errorf("%s: the call came to %q", args, done)
		}
		if exec.Asked("clerk") != 0 {
			t.Errorf("%s: the delegate ran", args)
		}
	}
}

func TestACallBackIntoTheChainIsRefused(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"a": {turntest.AsksAgent("b"), {Text: "a is done"}},
		"b": {turntest.AsksAgent("a"), turntest.AsksAgent("b"), {Text: "b is done"}},
	})
	var refusals []string
	spy := turntest.Plugin(func(r *plugins.Registrar) {
		r.Hook(plugins.AfterToolExecute, func(_ context.Context, p *plugins.PhaseContext) error {
			refusals = append(refusals, model.PartsText(p.Result.Content))
			return nil
		})
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
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
	exec := &turntest.Answerer{Answer: func(_ context.Context, upstream string, n int) turntest.Answer {
		var i int
		fmt.Sscanf(upstream, "a%d", &i)
		if n == 0 && i <= depth {
			return turntest.AsksAgent(fmt.Sprintf("a%d", i+1))
		}
		return turntest.Answer{Text: "reached " + upstream}
	}}
	rt := turntest.Build(t, turntest.WithAgents(exec, agents...).WithDelegationDepth(depth))
	if _, err := rt.Run(t.Context(), runtime.Prompt("a0", "go"), nil); err != nil {
		t.Fatal(err)
	}
	for i := range agents {
		want := 2
		if i == depth+1 {
			want = 0 // one deeper than is allowed
		}
		if got := exec.Asked(agents[i].ID); got != want {
			t.Errorf("agent %s was asked %d times, want %d", agents[i].ID, got, want)
		}
	}
}

func TestTheErrorOfARefusedDelegateIsTyped(t *testing.T) {
	var refused error
	probe := turntest.ToolFunc(func(ctx context.Context, call *tools.Call) (tools.Result, error) {
		_, refused = call.Host.Delegate(ctx, tools.DelegateRequest{AgentID: "a", Prompt: "again"})
		return tools.Result{}, refused
	})
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"a": {turntest.Calls("c", "probe", "{}"), {Text: "done"}}}), spec.Agent{ID: "a"}).WithTool("probe", probe))
	var log turntest.Events
	if _, err := rt.Run(t.Context(), runtime.Prompt("a", "go"), &log); err != nil {
		t.Fatal(err)
	}
	e, ok := errors.AsType[*runtime.DelegationError](refused)
	if !ok || e.Agent != "a" || e.Depth != 0 || !cmp.Equal(e.Chain, []string{"a"}) {
		t.Errorf("the error is %#v", refused)
	}
	if diff := cmp.Diff([]string{"c failed agent a was not called: it is waiting for this call itself (a → a)"}, log.Done()); diff != "" {
		t.Error(diff)
	}
}

func TestCancelingATurnCancelsItsDelegates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(map[string]event.Reason)
		spy := turntest.Plugin(func(r *plugins.Registrar) {
			r.Hook(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
				ended[p.Agent.ID] = p.Termination.Type
				return nil
			})
		})
		exec := &turntest.Answerer{Answer: func(ctx context.Context, upstream string, _ int) turntest.Answer {
			switch upstream {
			case "boss":
				return turntest.AsksAgent("clerk")
			case "clerk":
				return turntest.AsksAgent("intern")
			}
			<-ctx.Done()
			return turntest.Answer{}
		}}
		rt := turntest.Build(t, turntest.WithAgents(exec,
			spec.Agent{ID: "boss", Delegates: []string{"clerk"}, PluginIDs: []string{"spy"}},
			spec.Agent{ID: "clerk", Delegates: []string{"intern"}, PluginIDs: []string{"spy"}},
			spec.Agent{ID: "intern", PluginIDs: []string{"spy"}},
		).WithPlugin("spy", spy))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Second, cancel)
		begun := time.Now()
		var log turntest.Events
		got, err := rt.Run(ctx, runtime.Prompt("boss", "go"), &log)
		turntest.CheckLog(t, log.List)
		turntest.CheckMessages(t, got.Messages)
		if got.Status != event.StatusCanceled || !errors.Is(err, context.Canceled) || time.Since(begun) != 30*time.Second {
			t.Errorf("the turn ended %s after %s with the error %v", got.Status, time.Since(begun), err)
		}
		want := map[string]event.Reason{"boss": event.Canceled, "clerk": event.Canceled, "intern": event.Canceled}
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
	forbids := turntest.Plugin(func(r *plugins.Registrar) {
		r.ToolGate(lid{func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
			asked = append(asked, p.Agent.ID+" "+p.Call.Name)
			if p.Call.Name == "delete" {
				return plugins.Decision{Kind: plugins.Block, Reason: "the boss forbids it"}, nil
			}
			return plugins.Decision{}, nil
		}})
	})
	deleted := false
	remove := turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) {
		deleted = true
		return tools.TextResult("gone"), nil
	})
	var heard string
	spy := turntest.Plugin(func(r *plugins.Registrar) {
		r.Hook(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
			heard = model.PartsText(p.Messages[len(p.Messages)-2].Parts[0].ToolResult.Content)
			return nil
		})
	})
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":   {turntest.AsksAgent("clerk"), {Text: "thanks"}},
		"clerk":  {turntest.AsksAgent("intern"), {Text: "tried"}},
		"intern": {turntest.Calls("c", "delete", "{}"), {Text: "tried"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
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
	exec := &turntest.Answerer{Answer: func(ctx context.Context, upstream string, _ int) turntest.Answer {
		if upstream == "boss" {
			return turntest.Calls("c", "ask", "{}")
		}
		cancel()
		<-ctx.Done()
		return turntest.Answer{}
	}}
	careless := turntest.ToolFunc(func(_ context.Context, call *tools.Call) (tools.Result, error) {
		_, err := call.Host.Delegate(context.Background(), tools.DelegateRequest{AgentID: "clerk", Prompt: "help"})
		ended <- err
		return tools.Result{}, err
	})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss"}, spec.Agent{ID: "clerk"}).WithTool("ask", careless))
	if got, _ := rt.Run(ctx, runtime.Prompt("boss", "hello"), nil); got.Status != event.StatusCanceled {
		t.Errorf("the turn ended %s", got.Status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
