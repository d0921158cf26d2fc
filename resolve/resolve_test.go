package resolve_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// gist is what must be equal between two plans of one agent.
type gist struct {
	Agent          *spec.Agent
	Model          string
	Retried        bool
	Upstream       string
	Tools, Offered []string
	Plugins        []string
	Hooks          [][]string
	Warnings       []string
}

func gistOf(p *resolve.Plan) gist {
	g := gist{
		Agent: p.Agent, Model: p.Model, Retried: p.Retried, Upstream: p.Local.Upstream,
		Tools: ids(p), Offered: offered(p), Plugins: names(p), Warnings: said(p.Warnings),
	}
	for _, phase := range plugins.Phases() {
		g.Hooks = append(g.Hooks, p.Local.Env.Hooks(phase))
	}
	return g
}

// Resolving is pure: the same agent of the same content comes to the same plan,
// in one revision as in another.
func TestResolvingIsPure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		some := func(label string, from ...string) []string {
			return rapid.SliceOfDistinct(rapid.SampledFrom(from), rapid.ID).Draw(rt, label)
		}
		a := &spec.Agent{
			PluginIDs: some("plugins", "x", "y", "z"), ActiveHookFilter: some("filter", "x", "y", "gone"),
			Delegates: some("delegates", "b", "c", "local/b"), ExcludedToolPatterns: some("excluded", "w*", "*", "none*", "agent_run_?"),
		}
		if rapid.Bool().Draw(rt, "restricted") {
			a.AllowedTools = some("allowed", "wc", "rm", "of_x", "agent_run_b", "nothing")
		}
		edits := []draft{
			tool("wc", "rm", "ls"), plugin("x", brings("of_x")), plugin("y", brings()), plugin("z", made{}), agent("b"), agent("c"),
			func(d *registry.Draft) { a.ID, a.ModelID = "a", "m"; d.Agents.Put("a", a.Clone()) },
		}
		one, two := revision(t, edits...), revision(t, edits...)
		first := gistOf(plan(t, one, "a"))
		for _, rev := range []*registry.Revision{one, two} {
			if diff := cmp.Diff(first, gistOf(plan(t, rev, "a"))); diff != "" {
				rt.Fatalf("another plan (-first +this):\n%s", diff)
			}
		}
		if one.Hash() != two.Hash() {
			rt.Fatalf("equal content, different hashes")
		}
	})
}

// Any number of turns may resolve at once, be it the first time that anybody
// asks a revision, beside a dry run and an explanation.
func TestResolvingConcurrently(t *testing.T) {
	t.Parallel()
	rev := revision(t, tool("wc", "rm"), plugin("x", brings("of_x")), func(d *registry.Draft) {
		d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}})
		d.Defaults = &spec.Defaults{Agent: spec.Agent{Sections: spec.Sections{"retry": []byte(`{}`)}}}
		for i := range 20 {
			agent(fmt.Sprintf("a%d", i), func(a *spec.Agent) {
				a.ModelID, a.PluginIDs, a.Delegates = "pool", []string{"x"}, []string{fmt.Sprintf("a%d", (i+1)%20), "gone"}[:1]
				a.ExcludedTools = spec.Names{"rm"}
			})(d)
		}
		agent("broken", func(a *spec.Agent) { a.ModelID = "gone" })(d)
	})
	ctx := context.Background()
	var asking sync.WaitGroup
	for g := range 8 {
		asking.Go(func() {
			for i := range 40 {
				id := fmt.Sprintf("a%d", (g+i)%20)
				p, err := resolve.Resolve(ctx, rev, id, resolve.Options{})
				if err != nil || len(ids(p)) != 3 || p.Agent.ID != id {
					t.Errorf("Resolve(%s) = %+v, %v", id, p, err)
				}
				if _, err := resolve.Resolve(ctx, rev, "broken", resolve.Options{}); err == nil {
					t.Error("the broken agent resolves")
				}
			}
		})
		asking.Go(func() {
			if list, err := resolve.Check(ctx, rev); err == nil || len(list.Errors()) != 1 {
				t.Errorf("Check = %v, %v", list, err)
			}
			if x, err := resolve.Explain(ctx, rev, "a3"); err != nil || len(x.Tools) != 4 {
				t.Errorf("Explain = %v, %v", x, err)
			}
			_ = rev.Hash()
		})
	}
	asking.Wait()
}
