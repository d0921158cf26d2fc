package resolve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// An agent with everything wrong is told everything, in the order of the
// stages; there is no partial plan.
func TestAllErrorsOfAnAgentAreCollected(t *testing.T) {
	t.Parallel()
	rev := revision(t, tool("wc"),
		plugin("guard", claims("guard", `{"required": ["level"], "properties": {"level": {"type": "integer"}}, "additionalProperties": false}`)),
		agent("a", func(a *spec.Agent) {
			a.ModelID, a.MaxRounds = "gone", new(-1)
			a.PluginIDs = []string{"nope", "guard", "guard"}
			a.AllowedToolPatterns = spec.Names{"x\\"}
			a.Delegates = []string{"nobody"}
			a.Sections = spec.Sections{"guard": []byte(`{"levle": 1}`), "retry": []byte(`{"max_retries": "x"}`)}
		}))
	want := []string{
		"invalid-value agents.a.max_rounds",
		"invalid-plugin-config agents.a.sections.retry.max_retries",
		"model-not-found agents.a.model_id",
		"plugin-not-found agents.a.plugin_ids[0]",
		"invalid-value agents.a.plugin_ids[2]",
		"invalid-plugin-config agents.a.sections.guard",
		"invalid-plugin-config agents.a.sections.guard.levle",
		"agent-not-found agents.a.delegates[0]",
		"invalid-pattern agents.a.allowed_tool_patterns[0]",
	}
	for range 20 { // map order never leaks
		if diff := cmp.Diff(want, places(check(t, rev))); diff != "" {
			t.Fatalf("Check (-want +got):\n%s", diff)
		}
	}
	err := refused(t, rev, "a")
	if diff := cmp.Diff(want, places(diag.FromError(err))); diff != "" {
		t.Errorf("Resolve (-want +got):\n%s", diff)
	}
	e, ok := errors.AsType[*resolve.Error](err)
	if !ok || e.Agent != "a" || !strings.HasPrefix(err.Error(), "agent a does not resolve: invalid-value: agents.a.max_rounds") {
		t.Errorf("the error is %v", err)
	}
	for name, found := range map[string]bool{
		"model": holds[*resolve.ModelNotFoundError](err), "plugin": holds[*resolve.PluginNotFoundError](err),
		"section": holds[*resolve.InvalidPluginConfigError](err), "delegate": holds[*resolve.AgentNotFoundError](err),
		"record": holds[diag.Diagnostic](err),
	} {
		if !found {
			t.Errorf("the error does not hold that of the %s", name)
		}
	}
}

// One cause gives one diagnostic, however many agents suffer from it; it then
// speaks of none of them.
func TestOneCauseGivesOneDiagnostic(t *testing.T) {
	t.Parallel()
	many := func(change func(*spec.Agent)) draft {
		return func(d *registry.Draft) {
			for i := range 50 {
				agent(fmt.Sprintf("a%02d", i), change)(d)
			}
		}
	}
	for name, tt := range map[string]struct {
		edits []draft
		want  []string
	}{
		"a missing provider": {
			[]draft{func(d *registry.Draft) {
				d.Models.Put("n", &spec.Model{ID: "n", ProviderID: "gone", UpstreamModel: "up"})
				d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "n"}}})
			}, many(func(a *spec.Agent) { a.ModelID = "n" }), agent("b", func(a *spec.Agent) { a.ModelID = "pool" })},
			[]string{"provider-not-found models.n.provider_id"},
		},
		"a model without a provider": {
			[]draft{func(d *registry.Draft) { d.Models.Put("n", &spec.Model{ID: "n", UpstreamModel: "up"}) }, many(func(a *spec.Agent) { a.ModelID = "n" })},
			[]string{"missing-field models.n.provider_id"},
		},
		"a missing member of a pool": {
			[]draft{func(d *registry.Draft) {
				d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "gone"}, {ModelID: "m"}}})
			}, many(func(a *spec.Agent) { a.ModelID = "pool" })},
			[]string{"model-not-found model_pools.pool.members[0].model_id"},
		},
		"a bad section in the defaults": {
			[]draft{func(d *registry.Draft) {
				d.Defaults = &spec.Defaults{Agent: spec.Agent{Sections: spec.Sections{"retry": []byte(`{"max_retries": -1, "x": 1}`)}}}
			}, many(func(*spec.Agent) {})},
			[]string{"invalid-plugin-config defaults.sections.retry.max_retries", "invalid-plugin-config defaults.sections.retry.x"},
		},
		"a bad pattern in the defaults": {
			[]draft{func(d *registry.Draft) {
				d.Defaults = &spec.Defaults{Agent: spec.Agent{ExcludedToolPatterns: spec.Names{"["}}}
			}, many(func(*spec.Agent) {})},
			[]string{"invalid-pattern defaults.excluded_tool_patterns[0]"},
		},
		"a broken tool": {
			[]draft{func(d *registry.Draft) { d.Tools.Put("t", panickingTool{}) }, many(func(a *spec.Agent) { a.AllowedTools = spec.Names{"t"} })},
			[]string{"invalid-schema tools.t"},
		},
		"an endpoint that many delegate to": {
			[]draft{withBackend(factory{}), func(d *registry.Draft) {
				d.Agents.Put("far", &spec.Agent{ID: "far", Endpoint: &spec.Endpoint{BaseURL: "nowhere"}})
			}, many(func(a *spec.Agent) { a.Delegates = []string{"far"}; a.AllowedTools = spec.Names{"agent_run_far"} })},
			[]string{"invalid-endpoint agents.far.endpoint.base_url"},
		},
		"two instances of a plugin share a section": {
			[]draft{plugin("one", claims("log", `{"type": "object"}`)), plugin("two", claims("log", `{"type": "object"}`)),
				agent("a", func(a *spec.Agent) {
					a.PluginIDs, a.Sections = []string{"one", "two"}, spec.Sections{"log": []byte(`3`)}
				})},
			[]string{"invalid-plugin-config agents.a.sections.log"},
		},
		"a section that is no JSON": {
			[]draft{agent("a", func(a *spec.Agent) { a.Sections = spec.Sections{"retry": []byte(`{`)} })},
			[]string{"invalid-value agents.a.sections.retry"},
		},
		"a misspelled plugin whose section and tools are there": {
			[]draft{plugin("guard", brings("x")), plugin("warden", claims("warden", `true`)), tool("wc"),
				agent("a", func(a *spec.Agent) {
					a.PluginIDs, a.Sections = []string{"wardn"}, spec.Sections{"warden": []byte(`{}`)}
					a.AllowedTools, a.AllowedToolPatterns = spec.Names{"of_the_warden"}, spec.Names{"of_*"}
				}), agent("b")},
			[]string{"plugin-not-found agents.a.plugin_ids[0]"},
		},
		"a plugin that fails, with its tools": {
			[]draft{plugin("guard", made{register: func(*plugins.Registrar) error { return errors.New("no") }}), tool("wc"),
				agent("a", func(a *spec.Agent) {
					a.PluginIDs, a.AllowedTools = []string{"guard"}, spec.Names{"of_the_guard"}
					a.Sections = spec.Sections{"permission": []byte(`{"rules": [{"tool": "of_the_guard"}]}`)}
				}), agent("b"), plugin("permission", claims("permission", `true`))},
			[]string{"env-build agents.a.plugin_ids[0]", "unclaimed-section agents.a.sections.permission"},
		},
		"a delegate that is missing, with its tool": {
			[]draft{tool("wc"), agent("a", func(a *spec.Agent) { a.Delegates, a.AllowedTools = []string{"gone"}, spec.Names{"agent_run_gone"} }), agent("b")},
			[]string{"agent-not-found agents.a.delegates[0]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := check(t, revision(t, tt.edits...))
			if diff := cmp.Diff(tt.want, places(list)); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
			for _, d := range list {
				if strings.Contains(name, "many") || strings.Contains(d.Path, "defaults") || strings.HasPrefix(d.Path, "model") {
					if d.Agent != "" {
						t.Errorf("%s speaks of agent %s alone", d.Path, d.Agent)
					}
				}
			}
		})
	}
}

// The errors of a whole revision stand in the order of its parts: records,
// components, sources, agents.
func TestTheOrderOfErrors(t *testing.T) {
	t.Parallel()
	rev := revision(t,
		agent("z", func(a *spec.Agent) { a.ModelID = "gone" }),
		func(d *registry.Draft) {
			if err := d.AddSource(&registry.Source{Spec: spec.RemoteSource{Name: "cloud", BaseURL: "https://x.example"}}); err != nil {
				t.Fatal(err)
			}
			d.Tools.Put("bad id", echoTool(""))
			d.Models.Put("n", &spec.Model{ID: "n", ProviderID: "gone", UpstreamModel: "up"})
			d.Pools.Put("pool", &spec.Pool{ID: "pool"})
			d.Providers.Put("-", &silent{})
		},
		plugin("guard", panicking{}),
		agent("b", func(a *spec.Agent) { a.PluginIDs = []string{"nope"} }))
	want := []string{
		"invalid-id providers.-", "provider-not-found models.n.provider_id", "missing-field model_pools.pool.members",
		`invalid-id tools["bad id"]`, "env-build plugins.guard", "unsupported-backend remote_agents[0]",
		"model-not-found agents.z.model_id", "plugin-not-found agents.b.plugin_ids[0]",
	}
	if diff := cmp.Diff(want, places(check(t, rev))); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}

// What is asked for by strangers is not remembered, and does not panic.
func TestUnknownAgents(t *testing.T) {
	t.Parallel()
	rev := revision(t, agent("assistant"), agent("b"))
	for asked, near := range map[string]string{"assitant": "assistant", "": "", "/": "", "x/y/z": "", "ASSISTANT": "assistant", strings.Repeat("x", 1<<20): ""} {
		err := refused(t, rev, asked)
		e, ok := errors.AsType[*resolve.AgentNotFoundError](err)
		if !ok || e.ID != asked || e.Nearest != near {
			t.Errorf("Resolve(%.20q) = %.100v", asked, err)
		}
		if x, err := resolve.Explain(t.Context(), rev, asked); x != nil || !holds[*resolve.AgentNotFoundError](err) {
			t.Errorf("Explain(%.20q) = %v, %.100v", asked, x, err)
		}
	}
}

func TestResolvingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rev := revision(t, agent("a"))
	if p, err := resolve.Resolve(ctx, rev, "a", resolve.Options{}); p != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Resolve = %v, %v", p, err)
	}
	if x, err := resolve.Explain(ctx, rev, "a"); x != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Explain = %v, %v", x, err)
	}
	if list, err := resolve.Check(ctx, rev); list != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Check = %v, %v", list, err)
	}
}

// Whatever a component does, a dry run says so and goes on.
func TestComponentsThatPanic(t *testing.T) {
	t.Parallel()
	uses := func(id string) draft { return agent("a", func(a *spec.Agent) { a.PluginIDs = []string{id} }) }
	decoding := func(decode func() diag.List) made {
		return made{sections: []plugins.Section{{Key: "s", Schema: []byte(`true`), Decode: func(json.RawMessage) (any, diag.List) { return nil, decode() }}}}
	}
	for name, tt := range map[string]struct {
		edits []draft
		want  []string
	}{
		"Descriptor and Register": {[]draft{plugin("x", panicking{}), uses("x")}, []string{
			"env-build: plugins.x: plugin x: panic in Descriptor: descriptor",
			"env-build: agents.a.plugin_ids[0]: plugin x: panic in Register: register",
		}},
		"Decode": {[]draft{plugin("x", decoding(func() diag.List { panic("decode") })), uses("x")}, []string{
			`env-build: agents.a.sections.s: plugin x: panic in the decoder of section "s": decode`,
		}},
		"a tool": {[]draft{func(d *registry.Draft) { d.Tools.Put("t", panickingTool{}) }, agent("a")}, []string{
			`invalid-schema: tools.t: tool "t" panics when it describes itself: descriptor`,
		}},
		"a tool of a plugin": {[]draft{plugin("x", made{register: func(r *plugins.Registrar) error { r.Tool("t", panickingTool{}); return nil }}), uses("x")}, []string{
			`invalid-schema: agents.a.plugin_ids[0]: tool "t" panics when it describes itself: descriptor`,
		}},
		"Validate of a backend": {[]draft{withBackend(factory{validate: func(*spec.Endpoint) diag.List { panic("validate") }}), far("a")}, []string{
			`invalid-endpoint: agents.a.endpoint: backend "a2a": panic in Validate: validate`,
		}},
		"New of a backend": {[]draft{withBackend(factory{make: func(*spec.Endpoint) (backend.Backend, error) { panic("new") }}), far("a")}, []string{
			`invalid-endpoint: agents.a.endpoint: backend "a2a": panic in New: new`,
		}},
		"New fails": {[]draft{withBackend(factory{make: func(*spec.Endpoint) (backend.Backend, error) { return nil, errors.New("no") }}), far("a")}, []string{
			`invalid-endpoint: agents.a.endpoint: backend "a2a": no`,
		}},
		"New makes nothing": {[]draft{withBackend(factory{make: func(*spec.Endpoint) (backend.Backend, error) { return nil, nil }}), far("a")}, []string{
			`invalid-endpoint: agents.a.endpoint: backend "a2a": it made no backend`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, said(check(t, revision(t, tt.edits...)))); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}
