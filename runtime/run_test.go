package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func TestATurn(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "look", "{}"), {Text: "all is well"}}})
	look := turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("seen"), nil })
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("look", look).WithIDs(func() string { return "turn-1" }))

	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "how is it?"), &log)
	if err != nil {
		t.Fatal(err)
	}
	turntest.CheckLog(t, log.List)
	turntest.CheckMessages(t, got.Messages)
	if got.Status != event.StatusSucceeded || got.Termination != (event.Termination{Type: event.NaturalEnd}) {
		t.Errorf("the turn ended %s by %+v", got.Status, got.Termination)
	}
	if got.TurnID != "turn-1" || got.SessionID != "turn-1" || got.Agent != "clerk" || got.Revision != 1 {
		t.Errorf("the result names turn %q, session %q, agent %q, revision %d", got.TurnID, got.SessionID, got.Agent, got.Revision)
	}
	last := log.List[len(log.List)-1].Data
	want := &event.RunFinish{
		Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd},
		Result: &event.Output{Response: "all is well"}, Usage: event.Usage{Input: 20, Output: 2}, Steps: 2, FinishReason: "stop",
	}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&event.RunStart{AgentID: "clerk", Revision: 1}, log.List[0].Data); diff != "" {
		t.Error(diff)
	}
}

func TestARequestThatCannotBeginHasNoEvents(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		req  runtime.Request
		is   func(error) bool
	}{
		{"no such agent", t.Context(), runtime.Prompt("clark", "hello"), func(err error) bool {
			e, ok := errors.AsType[*resolve.AgentNotFoundError](err)
			return ok && e.ID == "clark" && e.Nearest == "clerk"
		}},
		{"no input", t.Context(), runtime.Request{AgentID: "clerk"}, func(err error) bool { return errors.Is(err, runtime.ErrNoInput) }},
		{"canceled before", over, runtime.Prompt("clerk", "hello"), func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"too much for the backend", t.Context(), runtime.Request{
			AgentID: "far", Input: []model.Message{model.User("again")}, History: []model.Message{model.User("before")},
			Params: model.Params{Temperature: new(0.0)},
		}, func(err error) bool {
			e, ok := errors.AsType[*backend.MismatchError](err)
			return ok && cmp.Equal(e.Mismatches, []backend.Mismatch{
				{Dimension: "overrides", Required: backend.OverrideParams, Actual: backend.LevelNone},
				{Dimension: "transcript", Required: backend.TranscriptFull, Actual: backend.TranscriptPrompt},
			})
		}},
		{"a backend that panics when it is asked", t.Context(), runtime.Prompt("mad", "hello"), func(err error) bool {
			_, ok := errors.AsType[*backend.PanicError](err)
			return ok
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mad := spec.Agent{ID: "mad", Endpoint: turntest.Far.Endpoint}
			peer := &turntest.Remote{ProfileFunc: func() backend.Profile {
				if tt.req.AgentID == "mad" {
					panic("oops")
				}
				return backend.WeakestProfile()
			}}
			rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "clerk"}, turntest.Far, mad).WithBackend(turntest.Factory{Backend: peer}))
			var log turntest.Events
			got, err := rt.Run(tt.ctx, tt.req, &log)
			if got != nil || len(log.List) != 0 || !tt.is(err) {
				t.Errorf("the result is %+v after %d events, the error %v", got, len(log.List), err)
			}
		})
	}
}

func TestARemoteTurn(t *testing.T) {
	for _, tt := range []struct {
		name    string
		execute func(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error)
		types   []event.Type
		status  event.Status
		end     event.Termination
		answer  string
	}{
		{"answers", func(_ context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
			host.Emit(&event.TextDelta{Delta: "hi"})
			return &backend.Result{Outcome: event.Outcome{Response: "hi from " + job.Agent.ID, Steps: 1}}, nil
		}, []event.Type{event.TypeRunStart, event.TypeTextDelta, event.TypeRunFinish}, event.StatusSucceeded,
			event.Termination{Type: event.NaturalEnd}, "hi from far"},
		{"gives nothing", func(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
			return nil, nil
		}, []event.Type{event.TypeRunStart, event.TypeRunFinish}, event.StatusSucceeded, event.Termination{Type: event.NaturalEnd}, ""},
		{"fails", func(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
			return &backend.Result{Outcome: event.Outcome{Response: "so far"}}, errors.New("the peer went away")
		}, []event.Type{event.TypeRunStart, event.TypeRunFinish}, event.StatusFailed,
			event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: "the peer went away"}, "so far"},
		{"is blocked", func(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
			return &backend.Result{Outcome: event.Outcome{Termination: event.Termination{Type: event.Blocked, Detail: "no"}}}, nil
		}, []event.Type{event.TypeRunStart, event.TypeRunFinish}, event.StatusFailed, event.Termination{Type: event.Blocked, Detail: "no"}, ""},
		{"panics", func(_ context.Context, _ *backend.Job, host backend.Host) (*backend.Result, error) {
			host.Emit(&event.TextDelta{Delta: "hi"})
			panic("oops")
		}, []event.Type{event.TypeRunStart, event.TypeTextDelta, event.TypeRunFinish}, event.StatusFailed,
			event.Termination{Type: event.Failed, Code: backend.CodePanic, Detail: "panic: oops"}, ""},
		{"fails with a nil pointer", func(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
			var failure *model.Error
			return nil, failure
		}, []event.Type{event.TypeRunStart, event.TypeRunFinish}, event.StatusFailed,
			event.Termination{Type: event.Failed, Code: backend.CodePanic, Detail: "panic: runtime error: invalid memory address or nil pointer dereference"}, ""},
		{"emits what is not its own", func(_ context.Context, _ *backend.Job, host backend.Host) (*backend.Result, error) {
			host.Emit(&event.RunStart{AgentID: "somebody"})
			host.Emit(&event.RunFinish{Status: event.StatusFailed})
			host.Emit(nil)
			return &backend.Result{Outcome: event.Outcome{Response: "hi"}}, nil
		}, []event.Type{event.TypeRunStart, event.TypeRunFinish}, event.StatusSucceeded, event.Termination{Type: event.NaturalEnd}, "hi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), turntest.Far).WithBackend(turntest.Factory{Backend: &turntest.Remote{ExecuteFunc: tt.execute}}))
			var log turntest.Events
			got, err := rt.Run(t.Context(), runtime.Prompt("far", "hello"), &log)
			turntest.CheckLog(t, log.List)
			if diff := cmp.Diff(tt.types, log.Types()); diff != "" {
				t.Error(diff)
			}
			if got.Status != tt.status || got.Termination != tt.end || got.Response != tt.answer {
				t.Errorf("the turn ended %s by %+v with %q", got.Status, got.Termination, got.Response)
			}
			failure, ok := errors.AsType[*runtime.TurnError](err)
			if failed := tt.status != event.StatusSucceeded; failed != ok || ok && failure.Termination != tt.end {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestATurnThatFailsGivesItsCause(t *testing.T) {
	refused := &model.Error{Class: model.Unauthorized, Provider: "fake", Status: 401, Message: "no such key"}
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "well", Err: refused}}}), spec.Agent{ID: "clerk"}))
	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "hello"), &log)
	turntest.CheckLog(t, log.List)
	if e, ok := errors.AsType[*model.Error](err); !ok || e != refused {
		t.Errorf("the error is %v", err)
	}
	want := event.Termination{Type: event.Failed, Code: "unauthorized", Detail: "provider fake: unauthorized (HTTP 401): no such key"}
	if got.Termination != want || got.Status != event.StatusFailed || got.Usage.Total() != 0 {
		t.Errorf("the turn ended by %+v", got.Termination)
	}
	if finish := log.List[len(log.List)-1].Data.(*event.RunFinish); finish.Result == nil || finish.Result.Response != "well" {
		t.Errorf("what was said before the failure is %+v", finish.Result)
	}
}

func TestACanceledTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	exec := &turntest.Answerer{Answer: func(context.Context, string, int) turntest.Answer {
		cancel()
		return turntest.Answer{Text: "half"}
	}}
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}))
	var log turntest.Events
	got, err := rt.Run(ctx, runtime.Prompt("clerk", "hello"), &log)
	turntest.CheckLog(t, log.List)
	if got.Status != event.StatusCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("the turn ended %s with the error %v", got.Status, err)
	}
}

func TestASuspendedTurnIsNoError(t *testing.T) {
	request := &interaction.Request{ID: "t", Action: "ask"}
	asks := turntest.Plugin(func(r *plugins.Registrar) {
		r.ToolGate(plugins.GateFunc(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
			return plugins.Decision{Kind: plugins.Suspend, Interaction: request}, nil
		}))
	})
	look := turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("seen"), nil })
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "look", "{}")}}), spec.Agent{ID: "clerk", PluginIDs: []string{"asks"}}).
		WithTool("look", look).WithPlugin("asks", asks))
	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "hello"), &log)
	turntest.CheckLog(t, log.List)
	if err != nil || got.Status != event.StatusWaiting || len(got.Interactions) != 1 || got.Interactions[0].ID != "t" || got.State == nil {
		t.Errorf("the turn ended %s with the interactions %v and the error %v", got.Status, got.Interactions, err)
	}
}

func TestASinkThatPanicsFailsTheTurnAndStillSeesItsEnd(t *testing.T) {
	look := turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("seen"), nil })
	play := func(at int) (*turntest.Events, *runtime.Result, error) {
		exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "look", "{}"), {Text: "done"}}})
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("look", look))
		var log turntest.Events
		got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "hello"), event.SinkFunc(func(ev event.Event) {
			log.Emit(ev)
			if len(log.List) == at {
				panic("full")
			}
		}))
		return &log, got, err
	}
	whole, _, err := play(0)
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; at <= len(whole.List); at++ {
		log, got, err := play(at)
		if _, ok := errors.AsType[*backend.PanicError](err); !ok {
			t.Errorf("event %d: the error is %v", at, err)
		}
		want := at + 1 // nothing but the end follows
		if at == len(whole.List) {
			want = at
		}
		last := &log.List[len(log.List)-1]
		if len(log.List) != want || last.Seq != uint64(want) || !last.Terminal() {
			t.Errorf("event %d: the sink was given %d events, the last %s with seq %d", at, len(log.List), last.Data.Type(), last.Seq)
		}
		turntest.CheckMessages(t, got.Messages)
	}
}

func TestTheSinkMayBeNil(t *testing.T) {
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "hi"}}}), spec.Agent{ID: "clerk"}))
	if got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "hello"), nil); err != nil || got.Response != "hi" {
		t.Errorf("the turn came to %+v, %v", got, err)
	}
}
