package builder_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func TestAnEmptyBuilderBuilds(t *testing.T) {
	t.Parallel()
	rt, err := builder.New().Build()
	if err != nil {
		t.Fatal(err)
	}
	if n := rt.Revision().Number(); n != 1 {
		t.Errorf("the first revision has number %d", n)
	}
	if list := rt.Diagnostics(); len(list) > 0 {
		t.Errorf("nothing was found wrong with nothing, but %v", list)
	}
}

// The findings of the With methods and of the dry run are returned together, the With methods'
// first, in the order of the calls.
func TestAllErrorsComeBackTogether(t *testing.T) {
	t.Parallel()
	b := demo().
		WithTool("wc", plain{}).WithTool("wc", plain{}).
		WithProvider("p", says("")).
		WithPlugin("audit", plugin{}).WithPlugin("audit", plugin{}).
		WithBackend(peers{kind: "a2a"}).WithBackend(peers{kind: "a2a"}).
		WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"}).
		WithAgentSpecs(agent(func(a *spec.Agent) { a.PluginIDs = []string{"audit", "nope"} }), agent(), spec.Agent{ID: "b", ModelID: "gone"})
	want := []string{
		"duplicate-id tools.wc", "duplicate-id providers.p", "duplicate-id plugins.audit", "duplicate-id backends.a2a",
		"duplicate-id models.m", "duplicate-id agents.a",
		"plugin-not-found agents.a.plugin_ids[1]", "model-not-found agents.b.model_id",
	}
	_, err := b.Build()
	built, ok := errors.AsType[*builder.BuildError](err)
	if !ok {
		t.Fatalf("Build = %v", err)
	}
	if diff := cmp.Diff(want, places(built.Diagnostics.Errors())); diff != "" {
		t.Errorf("Build (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, places(diag.FromError(built.Err))); diff != "" {
		t.Errorf("the joined errors (-want +got):\n%s", diff)
	}
	if text := err.Error(); !strings.HasPrefix(text, "the runtime was not built, for 8 errors:\n") || strings.Count(text, "\n") != 8 {
		t.Errorf("the text is no headline and a line for each error:\n%s", text)
	}
	_, err = b.BuildUnchecked()
	if diff := cmp.Diff(want[:6], places(diag.FromError(err))); diff != "" {
		t.Errorf("BuildUnchecked (-want +got):\n%s", diff)
	}
}

// places writes each diagnostic as its code and path.
func places(list diag.List) []string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = string(d.Code) + " " + d.Path
	}
	return out
}

func TestBuildUncheckedLeavesTheAgentsToTheirFirstTurn(t *testing.T) {
	t.Parallel()
	rt, err := demo().
		WithModel(spec.Model{ID: "half", UpstreamModel: "up"}).
		WithAgentSpecs(agent(), spec.Agent{ID: "b", ModelID: "gone"}, spec.Agent{ID: "c", ModelID: "half"}).
		BuildUnchecked()
	if err != nil {
		t.Fatal(err)
	}
	if list := rt.Diagnostics(); list != nil {
		t.Errorf("nothing was checked, and yet %v", list)
	}
	if _, err := rt.Resolve(t.Context(), "a", resolve.Options{}); err != nil {
		t.Errorf("agent a is sound: %v", err)
	}
	_, err = rt.Resolve(t.Context(), "b", resolve.Options{})
	if _, ok := errors.AsType[*resolve.ModelNotFoundError](err); !ok {
		t.Errorf("Resolve(b) = %v", err)
	}
	plan, err := rt.Resolve(t.Context(), "c", resolve.Options{})
	if err == nil {
		t.Errorf("agent c has a model without a provider, and yet a plan: %+v", plan)
	}
}

// Nil arguments are caller errors or select the default; no call panics.
func TestNilArguments(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		with func(*builder.AgentRuntimeBuilder)
		want []string
	}{
		"provider":              {func(b *builder.AgentRuntimeBuilder) { b.WithProvider("x", nil) }, []string{"invalid-value providers.x"}},
		"tool":                  {func(b *builder.AgentRuntimeBuilder) { b.WithTool("x", nil) }, []string{"invalid-value tools.x"}},
		"plugin":                {func(b *builder.AgentRuntimeBuilder) { b.WithPlugin("x", nil) }, []string{"invalid-value plugins.x"}},
		"available plugin":      {func(b *builder.AgentRuntimeBuilder) { b.WithAvailablePlugin("x", nil) }, []string{"invalid-value plugins.x"}},
		"backend":               {func(b *builder.AgentRuntimeBuilder) { b.WithBackend(nil) }, []string{"invalid-value backends"}},
		"pointer to no backend": {func(b *builder.AgentRuntimeBuilder) { b.WithBackend((*peers)(nil)) }, []string{"invalid-value backends"}},
		"id of a backend":       {func(b *builder.AgentRuntimeBuilder) { b.WithBackend(peers{}) }, []string{`invalid-id backends[""]`}},
		"configuration":         {func(b *builder.AgentRuntimeBuilder) { b.WithConfig(nil) }, []string{"invalid-value "}},
		"depth":                 {func(b *builder.AgentRuntimeBuilder) { b.WithDelegationDepth(0) }, []string{"invalid-value "}},
		"logger":                {func(b *builder.AgentRuntimeBuilder) { b.WithLogger(nil) }, []string{}},
		"ids":                   {func(b *builder.AgentRuntimeBuilder) { b.WithIDs(nil) }, []string{}},
		"agents":                {func(b *builder.AgentRuntimeBuilder) { b.WithAgentSpecs() }, []string{}},
		"zero agent":            {func(b *builder.AgentRuntimeBuilder) { b.WithAgentSpec(spec.Agent{}) }, []string{`invalid-id agents[""]`, `missing-field agents[""].model_id`}},
		"zero model":            {func(b *builder.AgentRuntimeBuilder) { b.WithModel(spec.Model{}) }, []string{`invalid-id models[""]`, `missing-field models[""].provider_id`, `missing-field models[""].upstream_model`}},
		"zero pool":             {func(b *builder.AgentRuntimeBuilder) { b.WithModelPool(spec.Pool{}) }, []string{`invalid-id model_pools[""]`, `missing-field model_pools[""].members`}},
		"zero defaults":         {func(b *builder.AgentRuntimeBuilder) { b.WithDefaults(spec.Defaults{}) }, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := demo().WithAgentSpec(agent())
			tt.with(b)
			_, list := b.Check(t.Context())
			if diff := cmp.Diff(tt.want, places(list.Errors())); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if rt, err := b.Build(); (err == nil) != (len(tt.want) == 0) || (rt == nil) != (err != nil) {
				t.Errorf("Build = %v, %v", rt, err)
			}
		})
	}
}

// A built runtime is unaffected by changes to the builder or to the records passed to it.
func TestABuiltRuntimeIsItsOwn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a := spec.Agent{
		ID: "a", ModelID: "pool", MaxRounds: new(3), AllowedTools: spec.Names{"wc"}, Sections: spec.Sections{"retry": []byte(`{}`)},
		StopConditions: []spec.StopCondition{{Type: spec.StopTimeout, Timeout: new(spec.Duration(time.Minute))}},
	}
	far := spec.Agent{ID: "far", Endpoint: &spec.Endpoint{BaseURL: "https://x.example", Auth: &spec.Auth{Type: "bearer", Token: "t"}}}
	m := spec.Model{ID: "n", ProviderID: "p", UpstreamModel: "up", Modalities: &spec.Modalities{Input: []spec.Modality{spec.ModalityText}}}
	pool := spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "n"}}}
	defaults := spec.Defaults{Agent: spec.Agent{SystemPrompt: "Be brief.", Sections: spec.Sections{"retry": []byte(`{}`)}}}
	b := demo().WithTool("wc", plain{}).WithBackend(peers{kind: "a2a"}).
		WithModel(m).WithModelPool(pool).WithDefaults(defaults).WithAgentSpecs(a, far)
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	rev := rt.Revision()
	before := contents(rev)

	*a.MaxRounds, a.AllowedTools[0], *a.StopConditions[0].Timeout = 99, "rm", 0
	a.Sections["retry"] = []byte(`{"max_retries": 9}`)
	far.Endpoint.BaseURL, far.Endpoint.Auth.Token = "https://evil.example", "stolen"
	m.Modalities.Input[0], pool.Members[0].ModelID = "smell", "gone"
	defaults.Sections["retry"] = []byte(`false`)
	b.WithAgentSpec(spec.Agent{ID: "late", ModelID: "gone"}).WithTool("late", plain{}).
		WithDefaults(spec.Defaults{Agent: spec.Agent{SystemPrompt: "Be long."}})

	if diff := cmp.Diff(before, contents(rev)); diff != "" {
		t.Errorf("the revision changed (-before +after):\n%s", diff)
	}
	if plan, err := rt.Resolve(ctx, "a", resolve.Options{}); err != nil || plan.Agent.Rounds() != 3 || plan.Agent.SystemPrompt != "Be brief." {
		t.Errorf("Resolve = %+v, %v", plan, err)
	}
	if rt.Revision() != rev {
		t.Error("the runtime has another revision")
	}
	if _, err := b.Build(); err == nil {
		t.Error("the builder forgot what it was given after the first Build")
	}
}

// contents are the records of a revision, copied.
func contents(rev *registry.Revision) map[string]any {
	out := map[string]any{"ids": rev.Set().AgentIDs(), "tools": append([]string{}, rev.Set().Tools.IDs()...), "defaults": *rev.Set().Defaults.Clone()}
	for id, a := range rev.Set().Agents.All() {
		out["agent "+id] = *a.Clone()
	}
	for id, m := range rev.Set().Models.All() {
		out["model "+id] = *m.Clone()
	}
	for id, p := range rev.Set().Pools.All() {
		out["pool "+id] = *p.Clone()
	}
	return out
}

func TestBuildingTwiceGivesEqualRuntimes(t *testing.T) {
	t.Parallel()
	b := demo().WithAgentSpec(agent())
	one, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	two, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if one.Revision().Hash() != two.Revision().Hash() {
		t.Error("the same builder built two different contents")
	}
	if _, err := one.Publish(t.Context(), func(d *registry.Draft) error { d.Agents.Remove("a"); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Resolve(t.Context(), "a", resolve.Options{}); err != nil {
		t.Errorf("publishing in one runtime changed the other: %v", err)
	}
}

func TestDefaultsAreMergedUnderEveryAgent(t *testing.T) {
	t.Parallel()
	rt, err := demo().
		WithDefaults(spec.Defaults{Agent: spec.Agent{ModelID: "m", MaxRounds: new(4), Sections: spec.Sections{"retry": []byte(`{}`)}}}).
		WithAgentSpecs(spec.Agent{ID: "a"}, spec.Agent{ID: "b", MaxRounds: new(5)}).Build()
	if err != nil {
		t.Fatal(err)
	}
	for id, rounds := range map[string]int{"a": 4, "b": 5} {
		plan, err := rt.Resolve(t.Context(), id, resolve.Options{})
		if err != nil || plan.Agent.Rounds() != rounds || plan.Model != "m" || !plan.Retried {
			t.Errorf("Resolve(%s) = %+v, %v", id, plan, err)
		}
	}
}

func TestACanceledCheckSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := demo().WithAgentSpec(agent())
	if rev, list := b.Check(ctx); rev != nil || len(list) > 0 {
		t.Errorf("Check = %v, %v; want no revision", rev, list)
	}
	_, err := b.BuildAndDiscover(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("BuildAndDiscover = %v", err)
	}
	if _, invalid := errors.AsType[*registry.InvalidError](err); invalid || strings.Contains(err.Error(), "invalid") {
		t.Errorf("a canceled dry run is taken for an invalid configuration: %v", err)
	}
}

func TestABuiltRuntimeRuns(t *testing.T) {
	t.Parallel()
	rt, err := demo().WithAgentSpec(agent()).WithIDs(func() string { return "turn-1" }).Build()
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.Run(t.Context(), runtime.Request{AgentID: "a", Input: []model.Message{model.User("hi")}}, nil)
	if err != nil || res.Response != "hello" || res.TurnID != "turn-1" || res.Revision != 1 {
		t.Errorf("Run = %+v, %v", res, err)
	}
}
