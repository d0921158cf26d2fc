package resolve_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// names are the plugins of a plan, in order.
func names(p *resolve.Plan) []string {
	var out []string
	for _, l := range p.Local.Env.Plugins() {
		out = append(out, l.ID)
	}
	return out
}

// The runtime's own plugins come after those of the agent: the round limit always,
// stop conditions if there are any.
func TestTheRuntimesOwnPlugins(t *testing.T) {
	t.Parallel()
	rev := revision(t, plugin("x", made{}), plugin("y", made{}), agent("a", func(a *spec.Agent) {
		a.PluginIDs, a.StopConditions = []string{"y", "x"}, []spec.StopCondition{{Type: spec.StopOnTool, ToolName: "done"}}
	}), agent("b"))
	if diff := cmp.Diff([]string{"y", "x", "runtime:loop-actions", "runtime:max-rounds", "runtime:stop-conditions"}, names(plan(t, rev, "a"))); diff != "" {
		t.Errorf("plugins of a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"runtime:loop-actions", "runtime:max-rounds"}, names(plan(t, rev, "b"))); diff != "" {
		t.Errorf("plugins of b (-want +got):\n%s", diff)
	}
}

// Every violation of a section is one diagnostic with its path inside the
// section.
func TestEveryViolationOfASectionIsReported(t *testing.T) {
	t.Parallel()
	rev := revision(t, plugin("guard", claims("guard", `{
	  "properties": {"rules": {"items": {"properties": {"tool": {"type": "string"}}, "required": ["behavior"]}}, "a.b": {"type": "string"}},
	  "additionalProperties": false
	}`)), agent("a", func(a *spec.Agent) {
		a.PluginIDs = []string{"guard"}
		a.Sections = spec.Sections{"guard": []byte(`{"rules": [{"behavior": 1}, {"tool": 3}], "a.b": 1, "zzz": 2}`)}
	}))
	want := []string{
		`invalid-plugin-config: agents.a.sections.guard["a.b"]: section "guard": it is a number, but must be a string`,
		`invalid-plugin-config: agents.a.sections.guard.rules[1]: section "guard": "behavior" is required`,
		`invalid-plugin-config: agents.a.sections.guard.rules[1].tool: section "guard": it is a number, but must be a string`,
		`invalid-plugin-config: agents.a.sections.guard.zzz: section "guard": "zzz" is not a known key`,
	}
	if diff := cmp.Diff(want, said(check(t, rev))); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}

// A plugin that is filtered out still has its section validated, and one that is
// not loaded has not.
func TestWhoseSectionsAreValidated(t *testing.T) {
	t.Parallel()
	rev := revision(t, plugin("guard", claims("guard", `{"type": "object"}`)), plugin("x", made{}),
		agent("a", func(a *spec.Agent) {
			a.PluginIDs, a.ActiveHookFilter, a.Sections = []string{"guard", "x"}, []string{"x"}, spec.Sections{"guard": []byte(`3`)}
		}),
		agent("b", func(a *spec.Agent) { a.Sections = spec.Sections{"guard": []byte(`3`)} }))
	want := []string{"invalid-plugin-config agents.a.sections.guard", "unclaimed-section agents.b.sections.guard"}
	if diff := cmp.Diff(want, places(check(t, rev))); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
	plan(t, rev, "b")
}

// A section that two plugins claim must satisfy both.
func TestASectionThatTwoPluginsClaim(t *testing.T) {
	t.Parallel()
	rev := revision(t, plugin("one", claims("s", `{"required": ["a"]}`)), plugin("two", claims("s", `{"required": ["b"]}`)),
		agent("a", func(a *spec.Agent) {
			a.PluginIDs, a.Sections = []string{"one", "two"}, spec.Sections{"s": []byte(`{}`)}
		}))
	all, ok := errors.AsType[*resolve.Error](refused(t, rev, "a"))
	if !ok {
		t.Fatal("the error is no *resolve.Error")
	}
	var by []string
	for _, d := range all.Errs {
		if e, ok := errors.AsType[*resolve.InvalidPluginConfigError](d); ok {
			by = append(by, e.Plugin)
		}
	}
	if diff := cmp.Diff([]string{"one", "two"}, by); diff != "" {
		t.Errorf("violated are the schemas of (-want +got):\n%s", diff)
	}
}

// Register reads the decoded settings, and those of an absent section too; they
// are decoded once for all turns.
func TestPluginsReadTheirSettings(t *testing.T) {
	t.Parallel()
	type settings struct{ Level int }
	var decoded atomic.Int32
	var seen atomic.Pointer[settings]
	guard := made{
		sections: []plugins.Section{plugins.NewSection("guard", "", json.RawMessage(`true`), func(raw json.RawMessage) (*settings, diag.List) {
			decoded.Add(1)
			s := &settings{Level: 1}
			if raw != nil && json.Unmarshal(raw, s) != nil {
				return nil, diag.List{diag.New(diag.InvalidValue, "level", "it is no number")}
			}
			return s, nil
		})},
		register: func(r *plugins.Registrar) error {
			s, ok := plugins.Config[*settings](r, "guard")
			if !ok {
				return errors.New("there are no settings")
			}
			seen.Store(s)
			return nil
		},
	}
	rev := revision(t, plugin("guard", guard), agent("a", func(a *spec.Agent) {
		a.PluginIDs, a.Sections = []string{"guard"}, spec.Sections{"guard": []byte(`{"Level": 7}`)}
	}), agent("b", func(a *spec.Agent) { a.PluginIDs = []string{"guard"} }),
		agent("c", func(a *spec.Agent) {
			a.PluginIDs, a.Sections = []string{"guard"}, spec.Sections{"guard": []byte(`{"Level": "x"}`)}
		}))
	for range 3 {
		plan(t, rev, "a")
		if s := seen.Load(); s.Level != 7 {
			t.Errorf("a has level %d", s.Level)
		}
		plan(t, rev, "b")
		if s := seen.Load(); s.Level != 1 {
			t.Errorf("b has level %d", s.Level)
		}
	}
	if n := decoded.Load(); n != 2 {
		t.Errorf("two agents are decoded %d times", n)
	}
	// The plugin's own code, at its own place.
	if diff := cmp.Diff([]string{"invalid-value agents.c.sections.guard.level"}, places(diag.FromError(refused(t, rev, "c")))); diff != "" {
		t.Errorf("c (-want +got):\n%s", diff)
	}
}

// everything is a plugin that registers one thing of each kind.
func everything(id string) made {
	return made{register: func(r *plugins.Registrar) error {
		hook := func(context.Context, *plugins.PhaseContext) error { return nil }
		r.Hook(plugins.RunStart, hook)
		r.RequestTransform(func(m []model.Message, _ []model.Tool) []model.Message { return m })
		r.Tool("of_"+id, echoTool(""))
		r.ActionHandler("act_"+id, plugins.BeforeInference, func(context.Context, *plugins.PhaseContext, any) error { return nil })
		r.EffectHandler("effect", func(context.Context, any) error { return nil })
		return nil
	}}
}

// A filter hides hooks, transforms and tools of the plugins that it does not
// name. Handlers count all the same, and nothing hides the runtime's own.
func TestActiveHookFilter(t *testing.T) {
	t.Parallel()
	quiet := everything("quiet")
	rev := revision(t, plugin("loud", brings("of_loud")), plugin("quiet", quiet), plugin("other", everything("other")), tool("wc"),
		agent("a", func(a *spec.Agent) { a.PluginIDs, a.ActiveHookFilter = []string{"loud", "quiet"}, []string{"loud"} }),
		agent("b", func(a *spec.Agent) { a.PluginIDs = []string{"loud", "quiet"} }),
		agent("both", func(a *spec.Agent) {
			a.PluginIDs, a.ActiveHookFilter = []string{"quiet", "other"}, []string{"runtime:max-rounds"}
		}))
	a, b := plan(t, rev, "a"), plan(t, rev, "b")
	if diff := cmp.Diff([]string{"of_loud", "wc"}, ids(a)); diff != "" {
		t.Errorf("tools of a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"of_loud", "of_quiet", "wc"}, ids(b)); diff != "" {
		t.Errorf("tools of b (-want +got):\n%s", diff)
	}
	if hooks := a.Local.Env.Hooks(plugins.RunStart); hooks != nil {
		t.Errorf("hooks of a: %v", hooks)
	}
	if hooks := b.Local.Env.Hooks(plugins.RunStart); !slices.Equal(hooks, []string{"quiet"}) {
		t.Errorf("hooks of b: %v", hooks)
	}
	if hooks := a.Local.Env.Hooks(plugins.AfterInference); !slices.Equal(hooks, []string{"runtime:max-rounds"}) {
		t.Errorf("the round limit of a is gone: %v", hooks)
	}
	// Their handlers collide though both are filtered.
	err := refused(t, rev, "both")
	if e, ok := errors.AsType[*execution.DuplicateError](err); !ok || e.What != "effect handler" || !holds[*resolve.EnvBuildError](err) {
		t.Errorf("Resolve(both) = %v", err)
	}
}

// The tool of a filtered plugin does not exist, so it collides with nothing.
func TestAFilteredPluginsToolsConflictWithNothing(t *testing.T) {
	t.Parallel()
	rev := revision(t, tool("wc"), plugin("x", brings("wc")), plugin("y", made{}),
		agent("a", func(a *spec.Agent) { a.PluginIDs, a.ActiveHookFilter = []string{"x", "y"}, []string{"y"} }),
		agent("b", func(a *spec.Agent) { a.PluginIDs = []string{"x", "y"} }))
	plan(t, rev, "a")
	if err := refused(t, rev, "b"); !holds[*resolve.ToolIDConflictError](err) {
		t.Errorf("Resolve(b) = %v", err)
	}
}

// Each resolve registers the plugins anew: what one turn's hooks and tools close
// over is not another's.
func TestEachPlanHasAnEnvironmentOfItsOwn(t *testing.T) {
	t.Parallel()
	counter := made{register: func(r *plugins.Registrar) error {
		r.Tool("count", &counting{})
		return nil
	}}
	rev := revision(t, plugin("counter", counter), tool("wc"), agent("a", func(a *spec.Agent) { a.PluginIDs = []string{"counter"} }))
	one, two := plan(t, rev, "a"), plan(t, rev, "a")
	if one.Local.Env == two.Local.Env || one.Local.Tools.Get("count").Tool == two.Local.Tools.Get("count").Tool {
		t.Error("two turns share what their plugins made")
	}
	if one.Local.Tools.Get("wc") != two.Local.Tools.Get("wc") || one.Agent != two.Agent {
		t.Error("what the revision decides is made twice")
	}
	tool := one.Local.Tools.Get("count").Tool.(*counting)
	tool.calls++
	if n := two.Local.Tools.Get("count").Tool.(*counting).calls; n != 0 {
		t.Errorf("the other turn counts %d", n)
	}
}

// counting is a tool with state.
type counting struct {
	rawTool
	calls int
}

// A plugin that registers differently from call to call is refused at the turn.
func TestAFicklePlugin(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]func(*plugins.Registrar) error{
		"fails":            func(*plugins.Registrar) error { return errors.New("not today") },
		"panics":           func(*plugins.Registrar) error { panic("not today") },
		"has another tool": func(r *plugins.Registrar) error { r.Tool("y", echoTool("")); return nil },
		"has no tool":      func(*plugins.Registrar) error { return nil },
		"has two tools":    func(r *plugins.Registrar) error { r.Tool("x", echoTool("")); r.Tool("y", echoTool("")); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			rev := revision(t, plugin("fickle", made{register: func(r *plugins.Registrar) error {
				if calls.Add(1) > 1 {
					return later(r)
				}
				r.Tool("x", echoTool(""))
				return nil
			}}), agent("a", func(a *spec.Agent) { a.PluginIDs = []string{"fickle"} }))
			if list := check(t, rev); len(list) > 0 {
				t.Fatalf("Check = %v", list)
			}
			if err := refused(t, rev, "a"); !holds[*resolve.EnvBuildError](err) || !holds[*resolve.Error](err) {
				t.Errorf("Resolve = %v", err)
			}
		})
	}
}

func TestAPluginThatRegistersTwice(t *testing.T) {
	t.Parallel()
	rev := revision(t, plugin("x", brings("t", "t", "u", "u")), agent("a", func(a *spec.Agent) { a.PluginIDs = []string{"x"} }))
	want := []string{
		`env-build: agents.a.plugin_ids[0]: plugin x registers the tool "t" twice`,
		`env-build: agents.a.plugin_ids[0]: plugin x registers the tool "u" twice`,
	}
	if diff := cmp.Diff(want, said(check(t, rev))); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}

// A plugin of the defaults is loaded by every agent, and its mistakes stand
// there.
func TestPluginsOfTheDefaults(t *testing.T) {
	t.Parallel()
	rev := revision(t, plugin("x", made{register: func(*plugins.Registrar) error { return errors.New("no") }}), agent("a"), agent("b"),
		func(d *registry.Draft) {
			d.Defaults = &spec.Defaults{Agent: spec.Agent{PluginIDs: []string{"x", "gone"}}}
		})
	want := []string{"plugin-not-found defaults.plugin_ids[1]", "env-build defaults.plugin_ids[0]"}
	if diff := cmp.Diff(want, places(check(t, rev))); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}
