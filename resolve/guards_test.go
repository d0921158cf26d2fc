package resolve_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// formatFindings writes each diagnostic with its severity, path and hint.
func formatFindings(list diag.List) []string {
	var out []string
	for _, d := range list {
		out = append(out, string(d.Severity)+" "+string(d.Code)+" "+d.Path+": "+d.Hint)
	}
	return out
}

// guarding returns a plugin whose section is marked as a guard.
func guarding(key string) made {
	return made{sections: []plugins.Section{plugins.Section{Key: key, Schema: []byte(`true`)}.AsGuard()}}
}

// gating returns a plugin that registers a gate and claims a section that is not
// marked as a guard.
func gating(key string, register func(*plugins.Registrar)) made {
	p := claims(key, `true`)
	p.register = func(r *plugins.Registrar) error { register(r); return nil }
	return p
}

// batch is a gate over all calls of an answer.
func batch(context.Context, *plugins.PhaseContext, []*model.ToolCall) (plugins.BatchDecision, error) {
	return plugins.BatchDecision{}, nil
}

// A section that guards and that nothing reads keeps its agent from resolving,
// wherever it was written and whatever guards.
func TestASectionThatGuardsAndThatNothingReadsIsAnError(t *testing.T) {
	t.Parallel()
	has := func(keys ...string) func(*spec.Agent) {
		return func(a *spec.Agent) {
			a.Sections = spec.Sections{}
			for _, key := range keys {
				a.Sections[key] = []byte(`{}`)
			}
		}
	}
	loads := func(ids ...string) func(*spec.Agent) { return func(a *spec.Agent) { a.PluginIDs = ids } }
	defaults := func(change func(*spec.Agent)) draft {
		return func(d *registry.Draft) {
			d.Defaults = new(spec.Defaults)
			change(&d.Defaults.Agent)
		}
	}
	undeclared := func(kind string, s spec.KindSection) draft {
		return func(d *registry.Draft) { d.Undeclared[kind] = []spec.KindSection{s} }
	}
	denies := gated(func(string) plugins.Verdict { return plugins.Verdict{} }).register
	for name, tt := range map[string]struct {
		edits []draft
		want  []string
	}{
		"permission": {
			[]draft{plugin("permission", permission.New()), agent("a", has("permission"))},
			[]string{`error unclaimed-section agents.a.sections.permission: plugin "permission" claims it: add it to plugin_ids`},
		},
		"permission under another id": {
			[]draft{plugin("rules", permission.New()), agent("a", has("permission"))},
			[]string{`error unclaimed-section agents.a.sections.permission: plugin "rules" claims it: add it to plugin_ids`},
		},
		"permission that no program knows": {
			[]draft{agent("a", has("permission"))},
			[]string{`error unclaimed-section agents.a.sections.permission: no plugin that claims it is registered`},
		},
		"a misspelled key": {
			[]draft{plugin("permission", permission.New()), agent("a", has("permissions"), loads("permission")), agent("b", has("permision"))},
			[]string{
				`error unclaimed-section agents.a.sections.permissions: did you mean "permission"?`,
				`error unclaimed-section agents.b.sections.permision: did you mean "permission"?`,
			},
		},
		"a plugin that is marked as a guard": {
			[]draft{plugin("limits", guarding("quota")), agent("a", has("quota"))},
			[]string{`error unclaimed-section agents.a.sections.quota: plugin "limits" claims it: add it to plugin_ids`},
		},
		"a plugin with a gate": {
			[]draft{plugin("limits", gating("quota", func(r *plugins.Registrar) { _ = denies(r) })), agent("a", has("quota"))},
			[]string{`error unclaimed-section agents.a.sections.quota: plugin "limits" claims it: add it to plugin_ids`},
		},
		"a plugin with a gate over batches": {
			[]draft{plugin("limits", gating("quota", func(r *plugins.Registrar) { r.BatchGate(batch) })), agent("a", has("quota"))},
			[]string{`error unclaimed-section agents.a.sections.quota: plugin "limits" claims it: add it to plugin_ids`},
		},
		"a plugin that reads its settings before its gate": {
			[]draft{plugin("limits", made{
				sections: []plugins.Section{plugins.NewSection("quota", "", json.RawMessage(`{"type": "object"}`), plugins.DecodeInto(struct{ Strict bool }{}))},
				register: func(r *plugins.Registrar) error {
					if s, ok := plugins.Config[struct{ Strict bool }](r, "quota"); ok && s.Strict {
						return denies(r)
					}
					return nil
				},
			}), agent("a", func(a *spec.Agent) { a.Sections = spec.Sections{"quota": []byte(`{"Strict": true}`)} }), agent("b", has("quota"))},
			[]string{
				`error unclaimed-section agents.a.sections.quota: plugin "limits" claims it: add it to plugin_ids`,
				`warning unclaimed-section agents.b.sections.quota: plugin "limits" claims it: add it to plugin_ids`,
			},
		},
		"a kind that no plugin is declared of": {
			[]draft{undeclared("quota", spec.KindSection{Key: "quota", Guards: true}), agent("a", has("quota")), agent("b", has("qouta"))},
			[]string{
				`error unclaimed-section agents.a.sections.quota: plugins of type "quota" claim it: declare one and add it to plugin_ids`,
				`error unclaimed-section agents.b.sections.qouta: did you mean "quota"?`,
			},
		},
		"a kind that does not guard": {
			[]draft{undeclared("audit", spec.KindSection{Key: "audit"}), agent("a", has("audit"))},
			[]string{`warning unclaimed-section agents.a.sections.audit: plugins of type "audit" claim it: declare one and add it to plugin_ids`},
		},
		"a default, for each agent that does not read it": {
			[]draft{plugin("permission", permission.New()), defaults(has("permission")), agent("a", loads("permission")), agent("b")},
			[]string{`error unclaimed-section defaults.sections.permission: plugin "permission" claims it: add it to plugin_ids`},
		},
		"a plugin that does not guard": {
			[]draft{plugin("audit", claims("audit", `true`)), agent("a", has("audit"))},
			[]string{`warning unclaimed-section agents.a.sections.audit: plugin "audit" claims it: add it to plugin_ids`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, tt.edits...)
			list := check(t, rev)
			if diff := cmp.Diff(tt.want, formatFindings(list)); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
			for _, d := range list {
				if _, err := resolve.Resolve(t.Context(), rev, d.Agent, resolve.Options{}); (err != nil) != (d.Severity == diag.Error) {
					t.Errorf("Resolve(%s) = %v after %s", d.Agent, err, d.Severity)
				}
			}
		})
	}
}

// A plugin that guards and that active_hook_filter leaves out would guard
// nothing, which is an error too; one that does not guard may be left out.
func TestAGuardThatAFilterLeavesOutIsAnError(t *testing.T) {
	t.Parallel()
	filtered := func(ids ...string) func(*spec.Agent) {
		return func(a *spec.Agent) { a.PluginIDs, a.ActiveHookFilter = ids, []string{"audit"} }
	}
	rev := revision(t, plugin("permission", permission.New()), plugin("audit", made{}), plugin("quota", guarding("quota")),
		plugin("trace", claims("trace", `true`)), plugin("gates", gated(func(string) plugins.Verdict { return plugins.Verdict{} })),
		agent("a", filtered("audit", "permission")), agent("b", filtered("quota", "audit")), agent("c", filtered("trace", "audit")),
		agent("d", filtered("gates")))
	hint := ": add it to active_hook_filter, or remove it from plugin_ids"
	want := []string{
		"error ignored-field agents.a.plugin_ids[1]" + hint,
		"error ignored-field agents.b.plugin_ids[0]" + hint,
		"error ignored-field agents.d.plugin_ids[0]" + hint,
		"warning unknown-hook-filter agents.d.active_hook_filter[0]: add it to plugin_ids",
	}
	if diff := cmp.Diff(want, formatFindings(check(t, rev))); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
	plan(t, rev, "c")
}

// Each plugin reads a section as its own decoder makes it, be it that others claim
// the section too; a plugin that reads it as something else does not register.
func TestPluginsThatClaimOneSectionReadItEachInItsOwnWay(t *testing.T) {
	t.Parallel()
	type strict struct{ Level int }
	type loose struct{ Level float64 }
	var one strict
	var two loose
	rev := revision(t,
		plugin("one", made{
			sections: []plugins.Section{plugins.NewSection("s", "", json.RawMessage(`true`), plugins.DecodeInto(strict{}))},
			register: func(r *plugins.Registrar) error { one, _ = plugins.Config[strict](r, "s"); return nil },
		}),
		plugin("two", made{
			sections: []plugins.Section{plugins.NewSection("s", "", json.RawMessage(`true`), plugins.DecodeInto(loose{}))},
			register: func(r *plugins.Registrar) error { two, _ = plugins.Config[loose](r, "s"); return nil },
		}),
		plugin("wrong", made{
			sections: []plugins.Section{plugins.NewSection("s", "", json.RawMessage(`true`), plugins.DecodeInto(loose{}))},
			register: func(r *plugins.Registrar) error { _, _ = plugins.Config[strict](r, "s"); return nil },
		}),
		agent("a", func(a *spec.Agent) {
			a.PluginIDs, a.Sections = []string{"one", "two"}, spec.Sections{"s": []byte(`{"Level": 3}`)}
		}),
		agent("b", func(a *spec.Agent) { a.PluginIDs = []string{"wrong"} }))
	plan(t, rev, "a")
	if one.Level != 3 || two.Level != 3 {
		t.Errorf("the plugins read %+v and %+v", one, two)
	}
	if err := refused(t, rev, "b"); !holds[*resolve.EnvBuildError](err) || !strings.Contains(err.Error(), `it reads section "s" as resolve_test.strict`) {
		t.Errorf("Resolve(b) = %v", err)
	}
}

// local has the severity with which each field of an agent is reported when the
// agent has an endpoint; empty for those that have their effect there.
var local = map[string]diag.Severity{
	"id": "", "description": "", "endpoint": "", "registry": "", "session_start": "",
	"temperature": diag.Warning, "top_p": diag.Warning, "seed": diag.Warning, "stop": diag.Warning, "service_tier": diag.Warning,
	"verbosity": diag.Warning, "request": diag.Warning,
	"model_id": diag.Warning, "system_prompt": diag.Warning, "reasoning_effort": diag.Warning, "tool_execution": diag.Warning,
	"variables": diag.Warning, "active_hook_filter": diag.Warning, "context_policy": diag.Warning, "a2a": diag.Warning,
	"max_rounds": diag.Error, "on_max_rounds": diag.Error, "max_continuation_retries": diag.Error, "on_truncation": diag.Error,
	"stop_conditions": diag.Error, "plugin_ids": diag.Error, "allowed_tools": diag.Error, "allowed_tool_patterns": diag.Error,
	"excluded_tools": diag.Error, "excluded_tool_patterns": diag.Error, "budgets": diag.Error, "loop_detection": diag.Error,
	"tool_budgets": diag.Error, "output_schema": diag.Error, "delegates": diag.Error, "handoffs": diag.Error, "max_handoffs": diag.Error,
	"sections": diag.Error,
}

// Every field of an agent with an endpoint has its effect or is reported: as an
// error when it guards. A field that this test does not know fails it.
func TestFieldsThatHaveNoEffectAtAnEndpoint(t *testing.T) {
	t.Parallel()
	whole := reflect.ValueOf(spec.Agent{
		ID: "far", Description: "Far away.", Registry: "", ModelID: "gone", SystemPrompt: "Be brief.", Variables: []byte(`{}`),
		MaxRounds: new(0), OnMaxRounds: spec.MaxRoundsFails, MaxContinuationRetries: new(0), OnTruncation: spec.TruncationFails,
		StopConditions: []spec.StopCondition{{Type: spec.StopTokenBudget, MaxTotal: 5}},
		ModelOptions: spec.ModelOptions{
			Temperature: new(0.5), TopP: new(0.5), Seed: new(1), Stop: []string{"END"}, ServiceTier: "flex", Verbosity: "low", Request: &spec.RequestEdits{},
		},
		ReasoningEffort: &spec.Effort{Level: "low"}, ToolExecution: spec.Sequential, PluginIDs: []string{"gone"}, ActiveHookFilter: []string{"gone"},
		AllowedTools: spec.Names{}, AllowedToolPatterns: spec.Names{"[a-"}, ExcludedTools: spec.Names{"rm"}, ExcludedToolPatterns: spec.Names{"rm*"},
		Budgets: &spec.Budgets{MaxTokens: new(1)}, LoopDetection: &spec.LoopDetection{}, ToolBudgets: map[string]spec.ToolBudget{"wc": {MaxCalls: 1}},
		OutputSchema: &spec.OutputSchema{Schema: []byte(`{"type": "objekt"}`)}, Delegates: []string{"gone"}, Handoffs: []string{"gone"}, MaxHandoffs: new(1),
		SessionStart:  []spec.SessionHook{{ID: "h", Command: []string{"true"}}},
		A2A:           &spec.AgentA2A{Reply: spec.ReplyMessage},
		ContextPolicy: &spec.ContextPolicy{}, Sections: spec.Sections{"permission": []byte(`{"rules": 3}`)},
	})
	for _, field := range reflect.VisibleFields(whole.Type()) {
		if field.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		want, known := local[name]
		if !known {
			t.Errorf("what does the field %s of an agent do at an endpoint?", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := spec.Agent{Endpoint: &spec.Endpoint{BaseURL: "https://x.example"}}
			if name != "endpoint" {
				reflect.ValueOf(&a).Elem().FieldByIndex(field.Index).Set(whole.FieldByIndex(field.Index))
			}
			a.ID = "far"
			rev := revision(t, withBackend(factory{}), plugin("permission", permission.New()), func(d *registry.Draft) { d.Agents.Put("far", &a) })
			var codes []diag.Severity
			for _, d := range check(t, rev) {
				if d.Code != diag.IgnoredField || !strings.HasPrefix(d.Path, "agents.far."+name) || d.Agent != "far" {
					t.Errorf("Check says %v", d)
				}
				codes = append(codes, d.Severity)
			}
			if want == "" && codes != nil || want != "" && !reflect.DeepEqual(codes, []diag.Severity{want}) {
				t.Errorf("%s is reported as %v, want %q", name, codes, want)
			}
			if _, err := resolve.Resolve(t.Context(), rev, "far", resolve.Options{}); (err != nil) != (want == diag.Error) {
				t.Errorf("Resolve = %v", err)
			}
		})
	}
}

// What becomes of sections and budgets depends on what they say and on the
// backend.
func TestSectionsAndBudgetsAtAnEndpoint(t *testing.T) {
	t.Parallel()
	agents := func(d *registry.Draft) {
		d.Agents.Put("far", &spec.Agent{ID: "far", Endpoint: &spec.Endpoint{BaseURL: "https://x.example"},
			Budgets: &spec.Budgets{MaxTokens: new(1)}, Delegates: []string{}, StopConditions: []spec.StopCondition{},
			Sections: spec.Sections{"retry": []byte(`{}`), "quota": []byte(`{}`), "zzz": []byte(`{}`)},
		})
	}
	metered := factory{make: func(*spec.Endpoint) (backend.Backend, error) { return metering{}, nil }}
	broken := factory{make: func(*spec.Endpoint) (backend.Backend, error) { return nil, errors.New("no") }}
	budgets, guards, rest := "error ignored-field agents.far.budgets", "error ignored-field agents.far.sections.quota", []string{
		"warning ignored-field agents.far.sections.retry", "warning ignored-field agents.far.sections.zzz",
	}
	for name, tt := range map[string]struct {
		made factory
		want []string
	}{
		"a backend without budgets":   {factory{}, append([]string{budgets, guards}, rest...)},
		"a backend with budgets":      {metered, append([]string{guards}, rest...)},
		"a backend that nobody knows": {broken, append([]string{"error invalid-endpoint agents.far.endpoint", guards}, rest...)},
	} {
		var got []string
		for _, d := range check(t, revision(t, withBackend(tt.made), plugin("limits", guarding("quota")), agents)) {
			got = append(got, string(d.Severity)+" "+string(d.Code)+" "+d.Path)
		}
		for i := range got {
			got[i] = strings.TrimSuffix(got[i], ": ")
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// metering is a backend that holds turns to budgets.
type metering struct{ remote }

func (metering) Profile() backend.Profile {
	p := backend.WeakestProfile()
	p.Budgets = backend.BudgetsEnforced
	return p
}
