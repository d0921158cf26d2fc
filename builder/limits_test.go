package builder_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// stating is a provider whose server reports limits.
type stating struct {
	says

	vendor string
	limits map[string]model.Limits
	err    error
	asked  int
}

func (s *stating) CatalogVendor() string { return s.vendor }

func (s *stating) Limits(_ context.Context, name string) (model.Limits, error) {
	if s.asked++; name == "panics" {
		panic("boom")
	}
	return s.limits[name], s.err
}

func withPolicy(a *spec.Agent) { a.ContextPolicy = &spec.ContextPolicy{} }

// window returns the context window in the agent's policy.
func window(t *testing.T, b *builder.AgentRuntimeBuilder) int {
	t.Helper()
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rt.Close() }()
	p, err := resolve.Resolve(t.Context(), rt.Revision(), "a", resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return *p.Agent.ContextPolicy.MaxContextTokens
}

func TestLimitsThatServersStateAreUsed(t *testing.T) {
	t.Parallel()
	listed, _ := catalog.Find("openai", "gpt-4o")
	const unknown = 200_000 // the default of a policy
	for name, tt := range map[string]struct {
		stated model.Limits
		err    error
		model  spec.Model
		vendor string
		want   int
		asked  int
	}{
		"a server that states a window":  {model.Limits{ContextWindow: 32768}, nil, spec.Model{UpstreamModel: "up"}, "", 32768, 1},
		"a server beats the catalog":     {model.Limits{ContextWindow: 32768}, nil, spec.Model{UpstreamModel: "gpt-4o"}, "openai", 32768, 1},
		"a setting beats a server":       {model.Limits{ContextWindow: 32768}, nil, spec.Model{UpstreamModel: "up", ContextWindow: new(1000)}, "", 1000, 1},
		"settings of both limits":        {model.Limits{ContextWindow: 32768}, nil, spec.Model{UpstreamModel: "up", ContextWindow: new(1000), MaxOutputTokens: new(10)}, "", 1000, 0},
		"a server that states no window": {model.Limits{MaxOutputTokens: 10}, nil, spec.Model{UpstreamModel: "gpt-4o"}, "openai", listed.ContextWindow, 1},
		"a server that states nothing":   {model.Limits{}, nil, spec.Model{UpstreamModel: "up"}, "", unknown, 1},
		"a server that fails":            {model.Limits{}, errors.New("down"), spec.Model{UpstreamModel: "up"}, "", unknown, 1},
		"a provider that panics":         {model.Limits{}, nil, spec.Model{UpstreamModel: "panics"}, "", unknown, 1},
		"absurd limits":                  {model.Limits{ContextWindow: 1, MaxOutputTokens: 1}, nil, spec.Model{UpstreamModel: "up"}, "", unknown, 1},
		"a negative window":              {model.Limits{ContextWindow: -1, MaxOutputTokens: -1}, nil, spec.Model{UpstreamModel: "up"}, "", unknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &stating{vendor: tt.vendor, err: tt.err, limits: map[string]model.Limits{tt.model.UpstreamModel: tt.stated}}
			tt.model.ID, tt.model.ProviderID = "m", "p"
			b := builder.New().WithProvider("p", p).WithModel(tt.model).WithAgentSpec(agent(withPolicy))
			b.LearnLimits(t.Context())
			if got := window(t, b); got != tt.want || p.asked != tt.asked {
				t.Errorf("the window has %d tokens, want %d; asked %d times", got, tt.want, p.asked)
			}
		})
	}
}

func TestLimitsAreAskedForWhereTheyMatter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*spec.Agent)
		asked  int
	}{
		"no policy":            {func(*spec.Agent) {}, 0},
		"a policy":             {withPolicy, 1},
		"a compaction section": {func(a *spec.Agent) { a.Sections = spec.Sections{spec.CompactionSection: []byte(`{}`)} }, 1},
	} {
		p := &stating{}
		b := builder.New().WithProvider("p", p).WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"}).WithAgentSpec(agent(tt.change))
		if b.LearnLimits(t.Context()); p.asked != tt.asked {
			t.Errorf("%s: asked %d times", name, p.asked)
		}
		if err := b.DiscoverLimits(t.Context()); err != nil || p.asked != tt.asked+1 {
			t.Errorf("%s: asked %d times: %v", name, p.asked, err)
		}
	}
}

// TestARuntimeLearnsLimitsLater starts before its model server does.
func TestARuntimeLearnsLimitsLater(t *testing.T) {
	t.Parallel()
	p := &stating{err: errors.New("down"), limits: map[string]model.Limits{"up": {ContextWindow: 32768}}}
	rt, err := builder.New().WithProvider("p", p).WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"}).WithAgentSpec(agent(withPolicy)).Build()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rt.Close() }()
	before := rt.Revision()
	var failed *builder.LimitsError
	if err := builder.RelearnLimits(t.Context(), rt); !errors.As(err, &failed) || failed.Model != "m" || rt.Revision() != before {
		t.Errorf("a server that is down gives %v, revision %d", err, rt.Revision().Number())
	}
	p.err = nil
	for range 2 {
		if err := builder.RelearnLimits(t.Context(), rt); err != nil {
			t.Fatal(err)
		}
	}
	after := rt.Revision()
	if after.Number() != before.Number()+1 || after.Hash() != before.Hash() {
		t.Errorf("revision %d follows %d; the hashes are %s and %s", after.Number(), before.Number(), before.Hash(), after.Hash())
	}
	for rev, want := range map[*registry.Revision]int{before: 200_000, after: 32768} {
		plan, err := resolve.Resolve(t.Context(), rev, "a", resolve.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := *plan.Agent.ContextPolicy.MaxContextTokens; got != want {
			t.Errorf("the window has %d tokens, want %d", got, want)
		}
	}
}
