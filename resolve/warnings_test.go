package resolve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// warningCase is a revision and the warnings that it gives.
type warningCase struct {
	edits []draft
	want  []string
}

// runWarnings checks the warnings, and that none of them keeps agent a from
// resolving: its plan has those that speak of it.
func runWarnings(t *testing.T, cases map[string]warningCase) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, tt.edits...)
			list := check(t, rev)
			if diff := cmp.Diff(tt.want, said(list)); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
			for _, d := range list {
				if d.Severity != diag.Warning {
					t.Errorf("%s is no warning", d.Error())
				}
			}
			if _, ok := rev.Set().Agent("a"); ok {
				plan(t, rev, "a")
			}
		})
	}
}

// rules is a permission section with a rule for each tool.
func rules(tools string) func(*spec.Agent) {
	return func(a *spec.Agent) {
		a.PluginIDs = append(a.PluginIDs, "permission")
		a.Sections = spec.Sections{"permission": []byte(`{"rules": [` + tools + `]}`)}
	}
}

func TestUnmatchedEntries(t *testing.T) {
	t.Parallel()
	runWarnings(t, map[string]warningCase{
		"entries that match": {
			[]draft{tool("weather", "wc"), agent("b"), plugin("x", brings("of_x")), agent("a", func(a *spec.Agent) {
				a.PluginIDs, a.Delegates = []string{"x"}, []string{"b"}
				a.AllowedTools, a.AllowedToolPatterns = spec.Names{"wc", "of_x", "agent_run_b"}, spec.Names{"w*", "agent_*", "?f_x"}
				a.ExcludedTools, a.ExcludedToolPatterns = spec.Names{"weather"}, spec.Names{"weath*"}
			})}, nil,
		},
		"a pattern and a literal in each field": {
			[]draft{tool("weather"), agent("a", func(a *spec.Agent) {
				a.AllowedTools, a.AllowedToolPatterns = spec.Names{"weather", "wether"}, spec.Names{"mcp__*", "weather"}
				a.ExcludedTools, a.ExcludedToolPatterns = spec.Names{"zzz"}, spec.Names{"dangerous-*"}
			})}, []string{
				`unmatched-pattern: agents.a.allowed_tool_patterns[0]: pattern "mcp__*" matches no registered tool`,
				`unmatched-pattern: agents.a.excluded_tool_patterns[0]: pattern "dangerous-*" matches no registered tool`,
				`unmatched-tool: agents.a.allowed_tools[1]: "wether" names no registered tool (did you mean "weather"?)`,
				`unmatched-tool: agents.a.excluded_tools[0]: "zzz" names no registered tool`,
			},
		},
		"budgets of tools": {
			[]draft{tool("weather"), agent("b"), agent("a", func(a *spec.Agent) {
				a.Delegates, a.Handoffs, a.ExcludedTools = []string{"b"}, []string{"b"}, spec.Names{"weather"}
				a.ToolBudgets = map[string]spec.ToolBudget{"weather": {}, "agent_run_b": {}, "hand_off_to_b": {}, "wether": {}, "w*": {}}
			})}, []string{
				`unmatched-tool: agents.a.tool_budgets["w*"]: "w*" names no registered tool`,
				`unmatched-tool: agents.a.tool_budgets.wether: "wether" names no registered tool (did you mean "weather"?)`,
				`no-effect: agents.a.tool_budgets.weather: the catalog filters out the tool "weather"`,
			},
		},
		"a pattern among the literals": {
			[]draft{tool("weather"), agent("a", func(a *spec.Agent) {
				a.AllowedTools, a.ExcludedTools = spec.Names{"weather", "w*"}, spec.Names{"[x]"}
			})}, []string{
				`unmatched-tool: agents.a.allowed_tools[1]: "w*" names no registered tool (allowed_tools holds literal ids; patterns belong in allowed_tool_patterns)`,
				`unmatched-tool: agents.a.excluded_tools[0]: "[x]" names no registered tool (excluded_tools holds literal ids; patterns belong in excluded_tool_patterns)`,
			},
		},
		"an empty entry": {
			[]draft{tool("weather"), agent("a", func(a *spec.Agent) {
				a.AllowedTools, a.ExcludedTools = spec.Names{"weather", ""}, spec.Names{" "}
			})}, []string{
				`unmatched-tool: agents.a.allowed_tools[1]: "" names no registered tool (write the id of a tool, or remove the entry; allowed_tools: [] names no tools)`,
				`unmatched-tool: agents.a.excluded_tools[0]: " " names no registered tool (write the id of a tool, or remove the entry; excluded_tools: [] names no tools)`,
			},
		},
		"an asterisk where there is no tool": {
			[]draft{agent("a", func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{"*"} })},
			[]string{`unmatched-pattern: agents.a.allowed_tool_patterns[0]: pattern "*" matches no registered tool`},
		},
		"from the defaults, once": {
			[]draft{tool("wc"), agent("a"), agent("b"), func(d *registry.Draft) {
				d.Defaults = &spec.Defaults{Agent: spec.Agent{ExcludedTools: spec.Names{"x"}}}
			}},
			[]string{`unmatched-tool: defaults.excluded_tools[0]: "x" names no registered tool`},
		},
	})
}

// An entry looks like a permission rule when it has an opening parenthesis, a
// closing one at its end, and something between the two.
func TestPermissionShapedEntries(t *testing.T) {
	t.Parallel()
	for entry, shaped := range map[string]bool{
		"wc(-l)": true, "Bash(npm *)": true, "f(x)(y)": true, "f(()": true, "(x)": true, "f(x)y)": true, "f())": true,
		"f()": false, "f(": false, "f)": false, "f(x)y": false, "()": false, "": false, "x": false,
	} {
		for field, set := range map[string]func(*spec.Agent){
			"allowed_tools":          func(a *spec.Agent) { a.AllowedTools = spec.Names{"wc", entry} },
			"excluded_tools":         func(a *spec.Agent) { a.ExcludedTools = spec.Names{"wc", entry} },
			"allowed_tool_patterns":  func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{"wc", entry} },
			"excluded_tool_patterns": func(a *spec.Agent) { a.ExcludedToolPatterns = spec.Names{"wc", entry} },
		} {
			var got []string
			for _, d := range check(t, revision(t, tool("wc", "rm"), agent("a", set))) {
				switch d.Code {
				case diag.PermissionShapedEntry:
					got = append(got, d.Path)
				case diag.UnmatchedPattern, diag.UnmatchedTool:
					if shaped {
						t.Errorf("%s %q: one cause gives two warnings: %v", field, entry, d)
					}
				}
			}
			var want []string
			if shaped {
				want = []string{"agents.a." + field + "[1]"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %q (-want +got):\n%s", field, entry, diff)
			}
		}
	}
}

func TestOrphanPermissionRules(t *testing.T) {
	t.Parallel()
	permission := plugin("permission", claims("permission", `true`))
	runWarnings(t, map[string]warningCase{
		"rules that name something, or nothing in particular": {
			[]draft{tool("wc"), permission, agent("b"), agent("a", func(a *spec.Agent) { a.Delegates = []string{"b"} },
				rules(`{"tool": "wc"}, {"tool": " wc (-l)"}, {"tool": "agent_run_b"}, {"tool": "mcp__*"}, {"tool": "/^x/"}, {"tool": "x?"}, {"tool": "[x]"}, {"tool": "{x,y}"}, {"tool": ""}, {"tool": "(x)"}, {}`))}, nil,
		},
		"filtered, unknown and misspelled": {
			[]draft{tool("wc", "rm"), permission, agent("a", func(a *spec.Agent) { a.ExcludedToolPatterns = spec.Names{"r*"} },
				rules(`{"tool": "rm(-rf *)"}, {"tool": "curl"}, {"tool": "rm"}, {"tool": "wcc"}, {"tool": "curl(x)"}`)), agent("b")},
			[]string{
				`orphan-permission-rule: agents.a.sections.permission.rules[0].tool: the rule names tool "rm", which the catalog filtered out`,
				`orphan-permission-rule: agents.a.sections.permission.rules[1].tool: the rule names tool "curl", which is unknown`,
				`orphan-permission-rule: agents.a.sections.permission.rules[3].tool: the rule names tool "wcc", which is unknown (did you mean "wc"?)`,
			},
		},
		"whether or not the plugin is loaded": {
			[]draft{tool("wc"), permission, agent("a", rules(`{"tool": "curl"}`), func(a *spec.Agent) { a.PluginIDs = nil })},
			[]string{
				`orphan-permission-rule: agents.a.sections.permission.rules[0].tool: the rule names tool "curl", which is unknown`,
				`unclaimed-section: agents.a.sections.permission: no plugin of agent "a" claims section "permission" (plugin "permission" claims it: add it to plugin_ids)`,
			},
		},
		"rules of another shape": {
			[]draft{tool("wc"), permission, agent("a", rules(`3`))}, nil,
		},
	})
}

func TestUnclaimedSections(t *testing.T) {
	t.Parallel()
	defaults := func(keys ...string) draft {
		return func(d *registry.Draft) {
			s := spec.Sections{}
			for _, key := range keys {
				s[key] = []byte(`{}`)
			}
			d.Defaults = &spec.Defaults{Agent: spec.Agent{Sections: s}}
		}
	}
	guard := plugin("guard", claims("guard", `true`))
	has := func(keys ...string) func(*spec.Agent) {
		return func(a *spec.Agent) {
			a.Sections = spec.Sections{}
			for _, key := range keys {
				a.Sections[key] = []byte(`{}`)
			}
		}
	}
	loads := func(ids ...string) func(*spec.Agent) { return func(a *spec.Agent) { a.PluginIDs = ids } }
	runWarnings(t, map[string]warningCase{
		"sections that resolving itself reads are claimed": {[]draft{agent("a", has("retry"))}, nil},
		"a section of a loaded plugin":                     {[]draft{guard, agent("a", has("guard"), loads("guard"))}, nil},
		"a section of a plugin that a filter hides": {
			[]draft{guard, plugin("x", made{}), agent("a", has("guard"), loads("guard", "x"), func(a *spec.Agent) { a.ActiveHookFilter = []string{"x"} })}, nil,
		},
		"a section of a plugin that is not loaded": {
			[]draft{guard, agent("a", has("guard"))},
			[]string{`unclaimed-section: agents.a.sections.guard: no plugin of agent "a" claims section "guard" (plugin "guard" claims it: add it to plugin_ids)`},
		},
		"misspelled, in order": {
			[]draft{guard, agent("a", has("zzz", "gaurd", "retri"), loads("guard"))},
			[]string{
				`unclaimed-section: agents.a.sections.gaurd: no plugin of agent "a" claims section "gaurd" (did you mean "guard"?)`,
				`unclaimed-section: agents.a.sections.retri: no plugin of agent "a" claims section "retri" (did you mean "retry"?)`,
				`unclaimed-section: agents.a.sections.zzz: no plugin of agent "a" claims section "zzz"`,
			},
		},
		"of the defaults, claimed for one agent": {[]draft{guard, defaults("guard"), agent("a"), agent("b", loads("guard"))}, nil},
		"of the defaults, claimed for none": {
			[]draft{guard, defaults("guard", "zzz"), agent("a"), agent("b")},
			[]string{
				`unclaimed-section: defaults.sections.guard: no plugin of any agent claims section "guard" (plugin "guard" claims it: add it to plugin_ids)`,
				`unclaimed-section: defaults.sections.zzz: no plugin of any agent claims section "zzz"`,
			},
		},
	})
}

func TestUnknownHookFilters(t *testing.T) {
	t.Parallel()
	filtered := func(plugins []string, filter ...string) draft {
		return agent("a", func(a *spec.Agent) { a.PluginIDs, a.ActiveHookFilter = plugins, filter })
	}
	audit, spare := plugin("audit", made{}), plugin("spare", made{})
	runWarnings(t, map[string]warningCase{
		"loaded, or the runtime's own": {[]draft{audit, filtered([]string{"audit"}, "audit", "runtime:max-rounds")}, nil},
		"unknown, misspelled and not loaded": {
			[]draft{audit, spare, filtered([]string{"audit"}, "zzz", "adit", "spare"), agent("b", func(a *spec.Agent) { a.PluginIDs = []string{"spare"} })},
			[]string{
				`unknown-hook-filter: agents.a.active_hook_filter[0]: plugin "zzz" is not loaded by this agent`,
				`unknown-hook-filter: agents.a.active_hook_filter[1]: plugin "adit" is not loaded by this agent (did you mean "audit"?)`,
				`unknown-hook-filter: agents.a.active_hook_filter[2]: plugin "spare" is not loaded by this agent (add it to plugin_ids)`,
			},
		},
	})
}

func TestAgentsWithoutTools(t *testing.T) {
	t.Parallel()
	runWarnings(t, map[string]warningCase{
		"no tool is registered": {[]draft{agent("a", func(a *spec.Agent) { a.AllowedTools = spec.Names{} })}, nil},
		"the agent wants none": {
			[]draft{tool("wc"), agent("a", func(a *spec.Agent) { a.AllowedTools = spec.Names{} }), agent("b", func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{} }), agent("c")}, nil,
		},
		"the catalog leaves one": {[]draft{tool("wc", "rm"), agent("a", func(a *spec.Agent) { a.ExcludedTools = spec.Names{"rm"} })}, nil},
		"the catalog leaves none": {
			[]draft{tool("wc", "rm"), agent("a", func(a *spec.Agent) { a.ExcludedToolPatterns = spec.Names{"*"} }), agent("b")},
			[]string{`no-tools: agents.a: the catalog leaves agent "a" with no tool; registered: 2`},
		},
		"gates that deny all are no catalog": {
			[]draft{tool("wc"), plugin("deny", gated(func(string) plugins.Verdict { return plugins.Verdict{Access: plugins.AccessDeny} })),
				agent("a", func(a *spec.Agent) { a.PluginIDs = []string{"deny"} })}, nil,
		},
	})
}

// What a plugin finds that is no error is a warning.
func TestAPluginMayWarnOfItsSection(t *testing.T) {
	t.Parallel()
	rev := revision(t, plugin("guard", made{sections: []plugins.Section{{
		Key: "guard", Schema: []byte(`true`), Decode: decodeWarning,
	}}}), agent("a", func(a *spec.Agent) {
		a.PluginIDs, a.Sections = []string{"guard"}, spec.Sections{"guard": []byte(`{}`)}
	}))
	want := diag.List{{
		Code: diag.UnmatchedPattern, Severity: diag.Warning, Message: "shadowed", Agent: "a", Path: "agents.a.sections.guard.rules[0]",
	}}
	if diff := cmp.Diff(want, check(t, rev)); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, plan(t, rev, "a").Warnings); diff != "" {
		t.Errorf("Warnings (-want +got):\n%s", diff)
	}
}

// Notes report unused definitions, except broken ones and those that a misspelled
// reference probably means.
func TestUnusedDefinitions(t *testing.T) {
	t.Parallel()
	notes := func(edits ...draft) []string {
		list, _ := resolve.Check(t.Context(), revision(t, edits...))
		var out []string
		for _, d := range list {
			if d.Severity == diag.Note {
				out = append(out, d.Path+": "+d.Message)
			}
		}
		return out
	}
	spare := func(d *registry.Draft) {
		d.Providers.Put("q", &silent{})
		d.Models.Put("spare", &spec.Model{ID: "spare", ProviderID: "p", UpstreamModel: "up"})
		d.Models.Put("inpool", &spec.Model{ID: "inpool", ProviderID: "p", UpstreamModel: "up"})
		d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "inpool"}}})
		d.Plugins.Put("guard", made{})
		d.Plugins.Put("builtin", made{})
		d.Available["builtin"] = true
		d.Tools.Put("wc", echoTool(""))
		d.Tools.Put("broken", panickingTool{})
	}
	got := notes(spare, agent("a", func(a *spec.Agent) { a.ExcludedTools = spec.Names{"wc"} }))
	want := []string{
		`providers.q: provider "q" is not used`, `models.spare: model "spare" is not used`, `model_pools.pool: model pool "pool" is not used`,
		`tools.wc: tool "wc" is not used`, `plugins.guard: plugin "guard" is not used`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	got = notes(spare, agent("a", func(a *spec.Agent) { a.ModelID, a.PluginIDs = "spar", []string{"guadr"} }), agent("b", func(a *spec.Agent) { a.ModelID = "poool" }),
		func(d *registry.Draft) { d.Models.Put("n", &spec.Model{ID: "n", ProviderID: "Q", UpstreamModel: "up"}) })
	want = []string{`models.m: model "m" is not used`, `models.n: model "n" is not used`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes beside misspelled references (-want +got):\n%s", diff)
	}
}

// A rule that restricts a tool which nothing provides is an error: what it was written
// for is not restricted.
func TestRulesForToolsThatDoNotExist(t *testing.T) {
	t.Parallel()
	section := func(byDefault, tool, behavior string) func(*spec.Agent) {
		return func(a *spec.Agent) {
			a.PluginIDs = []string{"permission"}
			a.Sections = spec.Sections{"permission": fmt.Appendf(nil, `{"default_behavior":%q,"rules":[{"tool":%q,"behavior":%q}]}`, byDefault, tool, behavior)}
		}
	}
	hidden := plugin("helper", brings("assist"))
	far := func(d *registry.Draft) { _ = d.AddTool("far", &pack{prefix: "mcp__far__"}) } // nobody has asked it
	for name, tt := range map[string]struct {
		byDefault, tool, behavior string
		want                      diag.Code
		hint                      string
	}{
		"a typing error that denies": {"allow", "refnd(amount > 5)", "deny", diag.UnknownRuleTool, `did you mean "refund"?`},
		"one that asks":              {"allow", "refnd(amount > 5)", "ask", diag.UnknownRuleTool, `did you mean "refund"?`},
		"one that ends the turn":     {"ask", "nothing_like_it", "terminate", diag.UnknownRuleTool, `for a tool that clients bring write a regular expression, such as "/^nothing_like_it$/"`},
		"one that allows":            {"ask", "refnd", "allow", diag.OrphanPermissionRule, `did you mean "refund"?`},
		"one that is the default":    {"deny", "refnd", "deny", diag.OrphanPermissionRule, `did you mean "refund"?`},
		"a pattern":                  {"allow", "refnd*", "deny", diag.OrphanPermissionRule, `did you mean "refund*"?`},
		"a pattern that asks":        {"allow", "oder_*(id = 1)", "ask", diag.OrphanPermissionRule, `did you mean "order_*"?`},
		"a pattern near nothing":     {"allow", "nothing.like_*", "deny", diag.OrphanPermissionRule, `for tools that clients bring write a regular expression, such as "/^nothing\\.like_/"`},
		"a pattern that allows":      {"ask", "refnd*", "allow", "", ""},
		"a pattern that is right":    {"allow", "ref*", "deny", "", ""},
		"tools of any MCP server":    {"allow", "mcp__*", "deny", "", ""},
		"any tool":                   {"allow", "*_nothing", "deny", "", ""},
		"a regular expression":       {"allow", "/^refnd*/", "deny", "", ""},
		"a pattern of a bundle":      {"allow", "mcp__far__x*", "deny", "", ""},
		"a pattern of delegates":     {"allow", "agent_run_*", "deny", "", ""},
		"a pattern of handoffs":      {"allow", "hand_off_to_c*", "deny", diag.OrphanPermissionRule, ""},
		"another plugin's tools":     {"allow", "assi*", "deny", "", ""},
		"a tool that is left out":    {"allow", "rm", "deny", diag.OrphanPermissionRule, ""},
		"another agent's delegate":   {"allow", "agent_run_b", "deny", diag.OrphanPermissionRule, ""},
		"another agent's handoff":    {"allow", "hand_off_to_b", "deny", diag.OrphanPermissionRule, ""},
		"an agent that is not there": {"allow", "agent_run_c", "deny", diag.UnknownRuleTool, ""},
		"another plugin's tool":      {"allow", "assist", "deny", diag.OrphanPermissionRule, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, tool("refund", "rm", "order_list"), far, plugin("permission", claims("permission", `true`)), hidden, agent("b"),
				agent("a", section(tt.byDefault, tt.tool, tt.behavior), func(a *spec.Agent) { a.ExcludedTools = spec.Names{"rm"} }))
			var got diag.Diagnostic
			for _, d := range check(t, rev) {
				if d.Agent == "a" && strings.Contains(d.Path, "rules") {
					got = d
				}
			}
			if got.Code != tt.want || tt.hint != "" && got.Hint != tt.hint {
				t.Errorf("%s %s (%s)", got.Code, got.Message, got.Hint)
			}
		})
	}
}

// TestAWarningAboutAPromptKeepsNothingFromResolving: not a declared agent, one with overrides, nor one
// that a turn brings along.
func TestAWarningAboutAPromptKeepsNothingFromResolving(t *testing.T) {
	t.Parallel()
	templated := func(a *spec.Agent) { a.SystemPrompt = "Hello {{name}}." }
	runWarnings(t, map[string]warningCase{
		"declared": {[]draft{agent("a", templated)}, []string{"no-effect: agents.a.system_prompt: the prompt contains {{name}}, which is not replaced " +
			"(write ${turn.name}, and declare it: variables: {type: object, properties: {name: {type: string}}})"}},
	})
	rev := revision(t, agent("a", templated))
	if _, err := resolve.Resolve(t.Context(), rev, "a", resolve.Options{Overrides: resolve.Overrides{MaxCalls: 1}}); err != nil {
		t.Errorf("with overrides: %v", err)
	}
	resolved(t, rev, passing(templated))
}
