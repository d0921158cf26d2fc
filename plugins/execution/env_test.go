package execution_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

var (
	noHook      = func(context.Context, *plugins.PhaseContext) error { return nil }
	noAction    = func(context.Context, *plugins.PhaseContext, any) error { return nil }
	noEffect    = func(context.Context, any) error { return nil }
	noGate      = plugins.GateFunc(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) { return plugins.Decision{}, nil })
	noTransform = func(m []model.Message, _ []model.Tool) []model.Message { return m }
	noTool      = &agenttool.Delegate{AgentID: "x"}
)

func TestWhatMayBeRegisteredTwice(t *testing.T) {
	other := plugins.NewKey[string]("test.count", plugins.ScopeRun)
	for _, tt := range []struct {
		name        string
		once        plugin
		again       plugin // registered by a second plugin
		same, cross string // the errors
	}{
		{"a hook", func(r *plugins.Registrar) { r.Hook(plugins.RunStart, noHook) }, nil, "", ""},
		{"a gate", func(r *plugins.Registrar) { r.ToolGate(noGate) }, nil, "", ""},
		{"a tool", func(r *plugins.Registrar) { r.Tool("x", noTool) }, nil,
			`plugin p0 registers the tool "x" twice`, `plugins p0 and p1 both register the tool "x"`},
		{"an action handler", func(r *plugins.Registrar) { r.ActionHandler("x", plugins.StepEnd, noAction) }, nil,
			`plugin p0 registers the action handler "x" twice`, `plugins p0 and p1 both register the action handler "x"`},
		{"an effect handler", func(r *plugins.Registrar) { r.EffectHandler("x", noEffect) }, nil,
			`plugin p0 registers the effect handler "x" twice`, `plugins p0 and p1 both register the effect handler "x"`},
		{"a state key", func(r *plugins.Registrar) { r.StateKey(count) }, nil,
			`plugin p0 registers the state key "test.count" twice`, ""},
		{"another key of the same name", func(r *plugins.Registrar) { r.StateKey(count) }, func(r *plugins.Registrar) { r.StateKey(other) },
			`plugin p0 registers the state key "test.count" twice`, `plugins p0 and p1 both register the state key "test.count"`},
	} {
		again := tt.again
		if again == nil {
			again = tt.once
		}
		for _, c := range []struct {
			loaded []execution.Loaded
			want   string
		}{
			{load(func(r *plugins.Registrar) { tt.once(r); tt.once(r) }), tt.same},
			{load(tt.once, again), tt.cross},
		} {
			_, errs := execution.Build(&spec.Agent{}, c.loaded, nil)
			got := ""
			if err := errors.Join(errs...); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: the errors are %q, want %q", tt.name, got, c.want)
			}
		}
	}
}

func TestTheSecondPluginMayNotDeclareAKeyTwiceEither(t *testing.T) {
	declares := func(r *plugins.Registrar) { r.StateKey(count) }
	_, errs := execution.Build(&spec.Agent{}, load(declares, func(r *plugins.Registrar) { declares(r); declares(r) }), nil)
	if want := `plugin p1 registers the state key "test.count" twice`; len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("the errors are %v, want %s", errs, want)
	}
}

func TestWhatCannotBeRegistered(t *testing.T) {
	for want, p := range map[string]plugin{
		"plugin p0: its hook is nil": func(r *plugins.Registrar) { r.Hook(plugins.StepEnd, nil) },
		"plugin p0: its hook is for the phase ToolGate, which takes gates only":           func(r *plugins.Registrar) { r.Hook(plugins.ToolGate, noHook) },
		"plugin p0: its hook is for the unknown phase 99":                                 func(r *plugins.Registrar) { r.Hook(99, noHook) },
		"plugin p0: its tool gate is nil":                                                 func(r *plugins.Registrar) { r.ToolGate(nil) },
		"plugin p0: its request transform is nil":                                         func(r *plugins.Registrar) { r.RequestTransform(nil) },
		"plugin p0: its action handler is nil":                                            func(r *plugins.Registrar) { r.ActionHandler("x", plugins.StepEnd, nil) },
		"plugin p0: its action handler is for the phase ToolGate, which takes gates only": func(r *plugins.Registrar) { r.ActionHandler("x", plugins.ToolGate, noAction) },
		"plugin p0: its effect handler is nil":                                            func(r *plugins.Registrar) { r.EffectHandler("x", nil) },
		"plugin p0: its state key is nil":                                                 func(r *plugins.Registrar) { r.StateKey(nil) },
		"plugin p0: panic in Register: oops":                                              func(*plugins.Registrar) { panic("oops") },
	} {
		_, errs := execution.Build(&spec.Agent{}, load(p), nil)
		if len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("the errors are %v, want %s", errs, want)
		}
	}
}

func TestTheHookFilter(t *testing.T) {
	all := func(r *plugins.Registrar) {
		r.Hook(plugins.StepStart, noHook)
	}
	owns := func(id string) plugin {
		return func(r *plugins.Registrar) {
			all(r)
			r.Tool("tool_"+id, noTool)
			r.ActionHandler("act_"+id, plugins.StepEnd, noAction)
			r.ToolGate(plugins.GateFunc(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
				return plugins.Decision{Kind: plugins.Block, Reason: id}, nil
			}))
			r.RequestTransform(noTransform)
		}
	}
	for _, tt := range []struct {
		filter []string
		want   []string
	}{
		{nil, []string{"p0", "p1", "core"}},
		{[]string{}, []string{"p0", "p1", "core"}},
		{[]string{"p1"}, []string{"p1", "core"}},
		{[]string{"unknown"}, []string{"core"}},
	} {
		loaded := append(load(owns("p0"), owns("p1")), execution.Loaded{ID: "core", Plugin: owns("core"), Core: true})
		env, errs := execution.Build(&spec.Agent{ActiveHookFilter: tt.filter}, loaded, nil)
		if errs != nil {
			t.Fatal(errs)
		}
		if diff := cmp.Diff(tt.want, env.Hooks(plugins.StepStart)); diff != "" {
			t.Errorf("filter %v: hooks: %s", tt.filter, diff)
		}
		var owners []string
		for _, tool := range env.Tools() {
			owners = append(owners, tool.Owner)
		}
		if diff := cmp.Diff(tt.want, owners); diff != "" {
			t.Errorf("filter %v: tools: %s", tt.filter, diff)
		}
		e := execution.NewEngine(env, nil)
		if d := e.Gate(t.Context()); d.Plugin != tt.want[0] {
			t.Errorf("filter %v: the gate of %s decided", tt.filter, d.Plugin)
		}
		if len(env.Plugins()) != 3 {
			t.Errorf("filter %v: %d plugins", tt.filter, len(env.Plugins()))
		}
	}
}

// knows is a gate that can tell before a call.
type knows struct {
	plugins.GateFunc
	verdict func(string) plugins.Verdict
}

func (k knows) Verdict(id string) plugins.Verdict { return k.verdict(id) }

func TestTheStrictestVerdictCounts(t *testing.T) {
	says := func(a plugins.Access) plugin {
		return func(r *plugins.Registrar) {
			r.ToolGate(knows{noGate, func(string) plugins.Verdict { return plugins.Verdict{Access: a, Rule: a.String()} }})
		}
	}
	breaks := func(r *plugins.Registrar) {
		r.ToolGate(knows{noGate, func(string) plugins.Verdict { panic("oops") }})
	}
	for _, tt := range []struct {
		gates []plugin
		want  plugins.Verdict
	}{
		{nil, plugins.Verdict{}},
		{[]plugin{func(r *plugins.Registrar) { r.ToolGate(noGate) }}, plugins.Verdict{}},
		{[]plugin{says(plugins.AccessAsk), says(plugins.AccessDepends)}, plugins.Verdict{Access: plugins.AccessAsk, Rule: "ask", Plugin: "p0"}},
		{[]plugin{says(plugins.AccessAsk), says(plugins.AccessDeny)}, plugins.Verdict{Access: plugins.AccessDeny, Rule: "deny", Plugin: "p1"}},
		{[]plugin{says(plugins.AccessAllow), breaks}, plugins.Verdict{Access: plugins.AccessDeny, Rule: "the gate panics: oops", Plugin: "p1"}},
	} {
		env, errs := execution.Build(&spec.Agent{}, load(tt.gates...), nil)
		if errs != nil {
			t.Fatal(errs)
		}
		if diff := cmp.Diff(tt.want, env.ToolVerdict("x")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSettingsOfASection(t *testing.T) {
	type settings struct{ Limit int }
	section := plugins.NewSection("limits", "", nil, plugins.DecodeInto(settings{Limit: 3}))
	for raw, want := range map[string]int{"": 3, `{}`: 3, `{"Limit":5}`: 5} {
		v, list := section.Decode(json.RawMessage(raw)[:len(raw):len(raw)])
		if raw == "" {
			v, list = section.Decode(nil)
		}
		if list != nil {
			t.Fatal(list)
		}
		p := plugin(func(r *plugins.Registrar) {
			got, ok := plugins.Config[settings](r, "limits")
			if !ok || got.Limit != want {
				t.Errorf("%q: the settings are %+v, %t", raw, got, ok)
			}
			if _, ok := plugins.Config[int](r, "limits"); ok {
				t.Error("the settings are given as another type")
			}
			if _, ok := plugins.Config[settings](r, "others"); ok {
				t.Error("a section that is not claimed has settings")
			}
		})
		execution.Build(&spec.Agent{}, load(p), map[plugins.Claim]any{{Plugin: "p0", Key: "limits"}: v})
	}
	if _, list := section.Decode(json.RawMessage(`[]`)); !list.HasErrors() {
		t.Error("a section that does not decode passes")
	}
}

func TestTheNamesOfPhases(t *testing.T) {
	var names []string
	for _, p := range plugins.Phases() {
		names = append(names, p.String())
	}
	want := []string{
		"Activate", "RunStart", "StepStart", "BeforeInference", "AfterInference", "ToolGate",
		"BeforeToolExecute", "AfterToolExecute", "StepEnd", "RunEnd", "Deactivate",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if got := plugins.Phase(77).String(); got != "Phase(77)" {
		t.Errorf("an unknown phase is called %q", got)
	}
}

type judges struct {
	plugins.GateFunc
	explain func(string, json.RawMessage) plugins.Verdict
}

func (j judges) Explain(id string, arguments json.RawMessage) plugins.Verdict {
	return j.explain(id, arguments)
}

func TestTheStrictestVerdictOnACallCounts(t *testing.T) {
	says := func(v plugins.Verdict) plugin {
		return func(r *plugins.Registrar) {
			r.ToolGate(judges{noGate, func(string, json.RawMessage) plugins.Verdict { return v }})
		}
	}
	mute := func(r *plugins.Registrar) { r.ToolGate(noGate) }
	breaks := func(r *plugins.Registrar) {
		r.ToolGate(judges{noGate, func(string, json.RawMessage) plugins.Verdict { panic("oops") }})
	}
	for _, tt := range []struct {
		gates  []plugin
		want   plugins.Verdict
		silent []string
	}{
		{nil, plugins.Verdict{}, nil},
		{[]plugin{mute}, plugins.Verdict{}, []string{"p0"}},
		{[]plugin{mute, says(plugins.Verdict{Rule: "allow"})}, plugins.Verdict{Rule: "allow", Plugin: "p1"}, []string{"p0"}},
		{
			[]plugin{says(plugins.Verdict{Access: plugins.AccessAsk}), says(plugins.Verdict{Access: plugins.AccessDeny, Terminate: true})},
			plugins.Verdict{Access: plugins.AccessDeny, Terminate: true, Plugin: "p1"}, nil,
		},
		{[]plugin{says(plugins.Verdict{}), breaks}, plugins.Verdict{Access: plugins.AccessDeny, Rule: "the gate panics: oops", Plugin: "p1"}, nil},
	} {
		env, errs := execution.Build(&spec.Agent{}, load(tt.gates...), nil)
		if errs != nil {
			t.Fatal(errs)
		}
		got, silent := env.CallVerdict("x", json.RawMessage("{}"))
		if diff := cmp.Diff(tt.want, got) + cmp.Diff(tt.silent, silent); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAFilterKeepsBatchGatesOutButNotThoseOfTheRuntime(t *testing.T) {
	gate := func(context.Context, *plugins.PhaseContext, []*model.ToolCall) (plugins.BatchDecision, error) {
		return plugins.BatchDecision{}, nil
	}
	adds := plugin(func(r *plugins.Registrar) { r.BatchGate(gate) })
	for _, core := range []bool{false, true} {
		env, errs := execution.Build(&spec.Agent{ActiveHookFilter: []string{"other"}}, []execution.Loaded{{ID: "p", Plugin: adds, Core: core}}, nil)
		if errs != nil {
			t.Fatal(errs)
		}
		if got := execution.NewEngine(env, nil).JudgesBatches(); got != core {
			t.Errorf("core %t: it judges batches: %t", core, got)
		}
	}
	if _, errs := execution.Build(&spec.Agent{}, load(func(r *plugins.Registrar) { r.BatchGate(nil) }), nil); len(errs) != 1 {
		t.Errorf("a batch gate that is nil comes to %v", errs)
	}
}
