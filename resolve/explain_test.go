package resolve_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
)

// explain explains an agent that resolves.
func explain(t *testing.T, rev *registry.Revision, id string) *resolve.Explanation {
	t.Helper()
	x, err := resolve.Explain(t.Context(), rev, id)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// choices writes what the stages of a trace did.
func choices(trace *resolve.Trace) map[string][]string {
	out := map[string][]string{}
	for _, s := range trace.Stages {
		out[s.Name] = []string{}
		for _, c := range s.Choices {
			line := c.Action + " " + c.Subject
			if c.Detail != "" {
				line += ": " + c.Detail
			}
			out[s.Name] = append(out[s.Name], line)
		}
	}
	return out
}

func stages(trace *resolve.Trace) []string {
	var out []string
	for _, s := range trace.Stages {
		out = append(out, s.Name)
	}
	return out
}

func TestExplainTellsWhatEachStageDid(t *testing.T) {
	t.Parallel()
	rev := revision(t, tool("wc", "rm"), agent("b"),
		plugin("guard", made{
			sections: []plugins.Section{{Key: "guard", Schema: []byte(`true`)}},
			register: func(r *plugins.Registrar) error {
				r.Tool("of_guard", echoTool(""))
				r.ToolGate(gate{verdict: func(id string) plugins.Verdict {
					if id == "wc" {
						return plugins.Verdict{Access: plugins.AccessDeny, Rule: "rule wc"}
					}
					return plugins.Verdict{}
				}})
				return nil
			},
		}),
		func(d *registry.Draft) {
			d.Defaults = &spec.Defaults{Agent: spec.Agent{Sections: spec.Sections{"retry": []byte(`{"max_retries": 3}`)}}}
		},
		agent("a", func(a *spec.Agent) {
			a.PluginIDs, a.Delegates, a.ExcludedTools = []string{"guard"}, []string{"b"}, spec.Names{"rm"}
			a.Sections, a.ActiveHookFilter = spec.Sections{"guard": []byte(`{}`)}, []string{"guard"}
		}))
	x := explain(t, rev, "a")
	if diff := cmp.Diff([]string{resolve.StageLookup, resolve.StagePlugins, resolve.StageTools}, stages(x.Trace)); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	want := map[string][]string{
		resolve.StageLookup: {
			`looked up agent "a": with the defaults merged under it`,
			`validated section "retry": against the schema of retry`,
			`looked up model "m": upstream "up"`,
			`looked up provider "p"`,
			`wrapped provider "p": sections.retry: up to 3 retries`,
		},
		resolve.StagePlugins: {
			`loaded plugin "guard": plugin_ids[0]`,
			`injected plugin "runtime:loop-actions": every local agent has it`,
			`injected plugin "runtime:max-rounds": max_rounds 16`,
			`validated section "guard": against the schema of guard`,
			`registered hook "BeforeInference": plugin runtime:loop-actions`,
			`registered hook "AfterInference": plugin runtime:max-rounds`,
			`registered gate: plugin guard`,
			`registered action handler "add_context_message": plugin runtime:loop-actions`,
			`registered action handler "remove_context_message": plugin runtime:loop-actions`,
			`registered action handler "set_inference_override": plugin runtime:loop-actions`,
			`registered action handler "exclude_tool": plugin runtime:loop-actions`,
			`registered action handler "include_only_tools": plugin runtime:loop-actions`,
			`registered action handler "hand_off": plugin runtime:loop-actions`,
			`registered state key "runtime.context_messages": plugin runtime:loop-actions`,
			`registered state key "runtime.context_throttle": plugin runtime:loop-actions`,
			`registered tool "of_guard": plugin guard`,
			`filtered hooks, gates, transforms and tools: active_hook_filter guard`,
		},
		resolve.StageTools: {
			`merged the global tools: 2 in all`,
			`merged tool "agent_run_b": delegate b`,
			`merged tool "of_guard": plugin guard`,
			`hidden tool "wc": plugin guard: rule wc`,
			`dropped tool "rm": excluded_tools[0] "rm"`,
			`kept tool "agent_run_b": no allow field is set, so every tool is allowed`,
			`kept tool "of_guard": no allow field is set, so every tool is allowed`,
		},
	}
	if diff := cmp.Diff(want, choices(x.Trace)); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
	if x.Path != "agents.a" || x.Model.ID != "m" || x.Pool != nil || !x.Retried || !x.Origin["sections.retry"] || len(x.Plugins) != 3 {
		t.Errorf("the explanation is %+v", x)
	}
	if x.Diagnostics != nil {
		t.Errorf("diagnostics: %v", x.Diagnostics)
	}
}

// Why an agent has a tool, or has not.
func TestExplainATool(t *testing.T) {
	t.Parallel()
	x := explain(t, revision(t, tool("wc", "rm", "ls"), agent("a", func(a *spec.Agent) {
		a.AllowedTools, a.AllowedToolPatterns, a.ExcludedToolPatterns = spec.Names{"ls"}, spec.Names{"none*", "r*"}, spec.Names{"?m"}
	})), "a")
	global := toolset.Source{Kind: toolset.SourceGlobal}
	for id, want := range map[string]*resolve.ToolChoice{
		"ls":      {ID: "ls", Source: global, Rule: toolset.Decision{Visible: true, Field: toolset.FieldAllowedTools, Entry: "ls"}},
		"rm":      {ID: "rm", Source: global, Rule: toolset.Decision{Field: toolset.FieldExcludedToolPatterns, Entry: "?m"}},
		"wc":      {ID: "wc", Source: global},
		"unknown": nil,
	} {
		if diff := cmp.Diff(want, x.Tool(id)); diff != "" {
			t.Errorf("tool %s (-want +got):\n%s", id, diff)
		}
	}
	for id, rule := range map[string]string{
		"ls": `allowed_tools[0] "ls"`, "rm": `excluded_tool_patterns[0] "?m"`, "wc": "no entry of allowed_tools or allowed_tool_patterns allows it",
	} {
		c := x.Tool(id)
		if c.Rule.Rule() != rule || c.Offered() != (id == "ls") {
			t.Errorf("tool %s: %s, offered %v", id, c.Rule.Rule(), c.Offered())
		}
	}
}

// An agent that does not resolve is explained as far as it goes.
func TestExplainWhatDoesNotResolve(t *testing.T) {
	t.Parallel()
	rev := revision(t, tool("wc"), plugin("x", made{}), agent("a", func(a *spec.Agent) {
		a.ModelID, a.PluginIDs, a.Delegates = "gone", []string{"x", "nope"}, []string{"nobody"}
		a.ActiveHookFilter = []string{"zzz"}
	}))
	x, err := resolve.Explain(t.Context(), rev, "a")
	if x == nil || !holds[*resolve.ModelNotFoundError](err) || !holds[*resolve.PluginNotFoundError](err) {
		t.Fatalf("Explain = %v, %v", x, err)
	}
	want := []string{
		"model-not-found agents.a.model_id", "plugin-not-found agents.a.plugin_ids[1]", "agent-not-found agents.a.delegates[0]",
		"unknown-hook-filter agents.a.active_hook_filter[0]",
	}
	if diff := cmp.Diff(want, places(x.Diagnostics)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if len(x.Trace.Stages) != 3 || x.Model != nil || x.Tool("wc") == nil || x.Plugins[0].ID != "x" {
		t.Errorf("the explanation is %+v", x)
	}
}

func TestExplainARemoteAgent(t *testing.T) {
	t.Parallel()
	x := explain(t, revision(t, withBackend(factory{}), far("far")), "far")
	want := map[string][]string{resolve.StageLookup: {`looked up agent "far"`, `delegated the whole turn to backend "a2a": the agent has an endpoint`}}
	if diff := cmp.Diff(want, choices(x.Trace)); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}

func TestExplainAPool(t *testing.T) {
	t.Parallel()
	x := explain(t, revision(t, agent("a", func(a *spec.Agent) { a.ModelID = "pool" }), func(d *registry.Draft) {
		d.Models.Put("n", &spec.Model{ID: "n", ProviderID: "p", UpstreamModel: "un"})
		d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}, {ModelID: "n", Role: spec.RoleFailoverOnly}}})
	}), "a")
	want := []string{
		`looked up agent "a"`, `looked up model pool "pool": members m, n (failover only)`,
		`looked up model "m": upstream "up"`, `looked up provider "p"`, `looked up model "n": upstream "un"`, `looked up provider "p"`,
	}
	if diff := cmp.Diff(want, choices(x.Trace)[resolve.StageLookup]); diff != "" || x.Pool == nil || x.Model != nil {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}
