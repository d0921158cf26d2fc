package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func TestGates(t *testing.T) {
	var (
		allow   = decides(plugins.Decision{})
		set     = decides(plugins.Decision{Kind: plugins.SetResult, Result: tools.TextResult("made up")})
		setBad  = decides(plugins.Decision{Kind: plugins.SetResult, Result: tools.ErrorResult("made up")})
		setData = decides(plugins.Decision{Kind: plugins.SetResult, Result: tools.Result{Data: json.RawMessage(`{"a":1}`)}})
		suspend = decides(plugins.Decision{Kind: plugins.Suspend, Reason: "approval"})
		block   = decides(plugins.Decision{Kind: plugins.Block, Reason: "forbidden"})
		end     = decides(plugins.Decision{Kind: plugins.Block, Reason: "forbidden", Terminate: true})
		fails   = gate(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
			return plugins.Decision{}, errors.New("no rules")
		})
		panics = gate(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) { panic("no rules") })
		writes = gate(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
			plugins.NewKey[int]("test.undeclared", plugins.ScopeRun).Set(p, 1)
			return plugins.Decision{}, nil
		})
	)
	for _, tt := range []struct {
		name   string
		gates  []plugin
		done   string
		reason event.Reason
		code   string
	}{
		{"none", nil, "c succeeded ran", event.NaturalEnd, ""},
		{"allow", []plugin{allow, allow}, "c succeeded ran", event.NaturalEnd, ""},
		{"set a result", []plugin{allow, set}, "c succeeded made up", event.NaturalEnd, ""},
		{"set an error", []plugin{setBad}, "c failed made up", event.NaturalEnd, ""},
		{"set data", []plugin{setData}, `c succeeded {"a":1}`, event.NaturalEnd, ""},
		{"the first of equals", []plugin{set, setBad}, "c succeeded made up", event.NaturalEnd, ""},
		{"suspend", []plugin{suspend}, "", event.Suspended, ""},
		{"suspend before set", []plugin{set, suspend}, "", event.Suspended, ""},
		{"block", []plugin{block}, "c failed forbidden", event.NaturalEnd, ""},
		{"block before all", []plugin{set, suspend, block, allow}, "c failed forbidden", event.NaturalEnd, ""},
		{"block and end", []plugin{set, end}, "c failed forbidden", event.Blocked, "p1"},
		{"error", []plugin{set, fails}, "c failed plugin p1 could not decide: no rules", event.NaturalEnd, ""},
		{"panic", []plugin{panics}, "c failed plugin p0 could not decide: panic: no rules", event.NaturalEnd, ""},
		{"an unknown kind", []plugin{set, decides(plugins.Decision{Kind: plugins.Block + 1})}, "c failed plugin p1 could not decide: it decides the unknown kind 4", event.NaturalEnd, ""},
		{"writing state", []plugin{writes}, `c failed plugin p0 could not decide: state key "test.undeclared" was never declared: call StateKey in Register`, event.NaturalEnd, ""},
	} {
		for _, mode := range []spec.ToolExecution{spec.Parallel, spec.Sequential} {
			t.Run(tt.name+"/"+string(mode), func(t *testing.T) {
				var log []string
				got := stage{
					agent:   spec.Agent{ToolExecution: mode},
					model:   says(asks("", callWith("c", "x", "{}")), text("done")),
					tools:   map[string]tools.Tool{"x": answers("ran")},
					plugins: append(tt.gates, watches(&log)),
				}.play(t)
				got.ends(t, tt.reason, tt.code)
				if done := strings.Join(got.done(), "; "); done != tt.done {
					t.Errorf("the call came to %q, want %q", done, tt.done)
				}
				if ran, hooked := tt.done == "c succeeded ran", has(log, "BeforeToolExecute"); ran != hooked {
					t.Errorf("ran is %t, but BeforeToolExecute ran is %t", ran, hooked)
				}
			})
		}
	}
}

func TestACallThatEndsTheTurnInterruptsTheOthers(t *testing.T) {
	onlyB := gate(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
		if p.Call.ID == "b" {
			return plugins.Decision{Kind: plugins.Block, Reason: "forbidden", Terminate: true}, nil
		}
		return plugins.Decision{}, nil
	})
	for mode, want := range map[spec.ToolExecution][]string{
		spec.Parallel:   {"a! [Tool execution was interrupted]", "b! forbidden", "c! [Tool execution was interrupted]"},
		spec.Sequential: {"a ran", "b! forbidden", "c! [Tool execution was interrupted]"},
	} {
		got := stage{
			agent:   spec.Agent{ToolExecution: mode},
			model:   says(asks("I try", callWith("a", "x", "{}"), callWith("b", "x", "{}"), callWith("c", "x", "{}"))),
			tools:   map[string]tools.Tool{"x": answers("ran")},
			plugins: []plugin{onlyB},
		}.play(t)
		got.ends(t, event.Blocked, "p0")
		if got.Termination.Detail != "plugin p0: forbidden" || got.Response != "I try" {
			t.Errorf("the turn ended by %+v with %q", got.Termination, got.Response)
		}
		if diff := cmp.Diff(want, got.results()); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
	}
}

func TestSuspendedCallsReturnTheirInteractions(t *testing.T) {
	request := &interaction.Request{ID: "t1", Action: "tool:PermissionConfirm"}
	asksForSome := gate(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
		switch p.Call.ID {
		case "a":
			return plugins.Decision{Kind: plugins.Suspend, Reason: "approval", Interaction: request}, nil
		case "b":
			return plugins.Decision{Kind: plugins.Suspend, Reason: "no ticket"}, nil
		default:
			return plugins.Decision{}, nil
		}
	})
	got := stage{
		model:   says(asks("", callWith("a", "x", "{}"), callWith("b", "x", "{}"), callWith("c", "x", "{}"))),
		tools:   map[string]tools.Tool{"x": answers("ran")},
		plugins: []plugin{asksForSome},
	}.play(t)
	got.ends(t, event.Suspended, "")
	want := []*interaction.Request{
		{ID: "t1", Action: "tool:PermissionConfirm", CallID: "a", Tool: "x", Arguments: []byte("{}"), Mode: interaction.ReplayToolCall},
		{ID: "b", Message: "no ticket", CallID: "b", Tool: "x", Arguments: []byte("{}"), Mode: interaction.ReplayToolCall},
	}
	if diff := cmp.Diff(want, got.Interactions); diff != "" {
		t.Error(diff)
	}
	if request.CallID != "" {
		t.Error("the gate's own request was changed")
	}
	if done := got.done(); len(done) != 1 || done[0] != "c succeeded ran" {
		t.Errorf("the calls that do not wait came to %q", done)
	}
}

// lid is a gate that also applies to delegates.
type lid struct{ plugins.GateFunc }

func (c lid) Ceiling(ctx context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	return c.Check(ctx, p)
}

func TestTheCeilingIsAskedBesidesTheOwnGates(t *testing.T) {
	blocks := lid{func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
		return plugins.Decision{Kind: plugins.Block, Reason: "above you"}, nil
	}}
	breaks := lid{func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) { panic("broken") }}
	for want, ceiling := range map[string][]plugins.CeilingGate{
		"c failed above you": {blocks},
		"c failed plugin of a delegating agent could not decide: panic: broken": {breaks},
	} {
		got := stage{
			model:   says(asks("", callWith("c", "x", "{}")), text("done")),
			tools:   map[string]tools.Tool{"x": answers("ran")},
			plugins: []plugin{decides(plugins.Decision{Kind: plugins.SetResult, Result: tools.TextResult("made up")})},
			ceiling: ceiling,
		}.play(t)
		got.ends(t, event.NaturalEnd, "")
		if diff := cmp.Diff([]string{want}, got.done()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAToolThatWasNotOfferedIsNotExecuted(t *testing.T) {
	ran := false
	got := stage{
		model: says(asks("", callWith("c", "secret", "{}")), text("done")),
		tools: map[string]tools.Tool{
			"open":   answers("ok"),
			"secret": does(func(context.Context, *tools.Call) (tools.Result, error) { ran = true; return tools.Result{}, nil }),
		},
		plugins: []plugin{on(plugins.BeforeInference, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Schedule("exclude_tool", "secret")
			return nil
		})},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if diff := cmp.Diff([]string{`c! the tool "secret" is not available now`}, got.results()); diff != "" || ran {
		t.Errorf("ran is %t; %s", ran, diff)
	}
}
