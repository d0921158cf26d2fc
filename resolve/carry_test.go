package resolve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The ids that random edits draw from. Those of agents are many, because a draft that
// concerns more than a part of them is resolved as a whole.
var (
	carriedAgents = func() (ids []string) {
		for i := range 48 {
			ids = append(ids, fmt.Sprintf("a%02d", i))
		}
		return ids
	}()
	carriedModels    = []string{"m", "m1", "m2", "gone"}
	carriedTools     = []string{"t1", "t2", "net_get", "net_put", "agent_run_a01", "wc"}
	carriedPlugins   = []string{"px", "py", "pz", "gate"}
	carriedPatterns  = []string{"net_*", "t?", "*", "zzz*", "agent_run_*", "["}
	carriedProviders = []string{"p", "p1"}
)

// TestPropertyACarriedRevisionIsThatOfAScratchBuild holds revisions that were published
// one after the other, each of which carries over what the edit left as it was, to those
// that are made of the same content at once: the same findings, the same content hash,
// and the same plan of each agent.
func TestPropertyACarriedRevisionIsThatOfAScratchBuild(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		store := registry.NewStore(resolve.Check)
		publish := func(edits ...draft) error {
			_, err := store.Publish(context.Background(), func(d *registry.Draft) error {
				for _, edit := range edits {
					edit(d)
				}
				return nil
			})
			return err
		}
		first := []draft{base, plugin("px", claims("sx", `{"type":"object"}`)), plugin("gate", gated(denyNet)), tool("t1", "net_get", "wc")}
		for _, id := range carriedAgents {
			first = append(first, agent(id, func(a *spec.Agent) { a.SystemPrompt = "Be brief." }))
		}
		if err := publish(first...); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 8).Draw(rt, "publishes") {
			before := store.Current()
			var edits []draft
			for range rapid.IntRange(1, 4).Draw(rt, "edits") {
				edits = append(edits, drawEdit(rt))
			}
			err := publish(edits...)
			after := store.Current()
			if err != nil {
				if !holds[*registry.InvalidError](err) {
					rt.Fatal(err)
				}
				if after != before {
					rt.Fatal("a draft that was refused has changed the revision")
				}
				checkRefusal(rt, before, edits, err)
				continue
			}
			compareWithScratch(rt, after)
		}
	})
}

// denyNet is the verdict of a gate that denies the tools of the net.
func denyNet(id string) plugins.Verdict {
	if len(id) > 4 && id[:4] == "net_" {
		return plugins.Verdict{Access: plugins.AccessDeny, Rule: "net"}
	}
	return plugins.Verdict{}
}

// scratch returns a set with the content of another one.
func scratch(of *registry.Set) *registry.Set {
	fresh := registry.NewSet()
	copyEntries(fresh.Agents, of.Agents)
	copyEntries(fresh.Models, of.Models)
	copyEntries(fresh.Pools, of.Pools)
	copyEntries(fresh.Providers, of.Providers)
	copyEntries(fresh.Tools, of.Tools)
	copyEntries(fresh.Plugins, of.Plugins)
	copyEntries(fresh.Backends, of.Backends)
	copyEntries(fresh.Sources, of.Sources)
	fresh.Defaults = of.Defaults
	return fresh
}

func copyEntries[T any](to, from *registry.Registry[T]) {
	for id, entry := range from.All() {
		to.Put(id, entry)
	}
}

// compareWithScratch compares a revision with one that was made of its content at once.
func compareWithScratch(rt *rapid.T, carried *registry.Revision) {
	made, err := registry.NewStore(resolve.Check).Publish(context.Background(), func(d *registry.Draft) error {
		d.Set = scratch(carried.Set())
		return nil
	})
	if err != nil {
		rt.Fatalf("the content of the revision is refused: %v", err)
	}
	if diff := cmp.Diff(said(made.Diagnostics()), said(carried.Diagnostics())); diff != "" {
		rt.Fatalf("the findings differ (-scratch +carried):\n%s", diff)
	}
	if made.Hash() != carried.Hash() {
		rt.Fatal("the content hashes differ")
	}
	if diff := cmp.Diff(plansOf(rt, made), plansOf(rt, carried)); diff != "" {
		rt.Fatalf("the plans differ (-scratch +carried):\n%s", diff)
	}
}

// checkRefusal checks that a draft is refused for the same reasons as its content.
func checkRefusal(rt *rapid.T, before *registry.Revision, edits []draft, refusal error) {
	_, err := registry.NewStore(resolve.Check).Publish(context.Background(), func(d *registry.Draft) error {
		d.Set = scratch(before.Set())
		for _, edit := range edits {
			edit(d)
		}
		return nil
	})
	var want, got *registry.InvalidError
	if !errors.As(err, &want) || !errors.As(refusal, &got) {
		rt.Fatalf("the draft is refused with %v, its content with %v", refusal, err)
	}
	if diff := cmp.Diff(said(want.Diagnostics), said(got.Diagnostics)); diff != "" {
		rt.Fatalf("the reasons differ (-scratch +carried):\n%s", diff)
	}
}

// planSeen is what matters of a plan.
type planSeen struct {
	Agent, Model            string
	Retried                 bool
	Tools, Offered, Plugins []string
	Warnings                []string
}

// plansOf returns the plans of all agents.
func plansOf(rt *rapid.T, rev *registry.Revision) map[string]planSeen {
	plans := make(map[string]planSeen)
	for _, id := range rev.Set().AgentIDs() {
		p, err := resolve.Resolve(context.Background(), rev, id, resolve.Options{})
		if err != nil {
			rt.Fatalf("agent %s does not resolve: %v", id, err)
		}
		encoded, err := json.Marshal(p.Agent)
		if err != nil {
			rt.Fatal(err)
		}
		seen := planSeen{Agent: string(encoded), Model: p.Model, Retried: p.Retried, Warnings: said(p.Warnings)}
		if p.Local != nil {
			seen.Tools, seen.Offered = ids(p), offered(p)
			for _, e := range p.Local.Tools.Entries() {
				d := e.Tool.Descriptor()
				seen.Tools = append(seen.Tools, d.Description)
			}
		}
		e, err := resolve.Explain(context.Background(), rev, id)
		if err != nil {
			rt.Fatal(err)
		}
		for _, loaded := range e.Plugins {
			seen.Plugins = append(seen.Plugins, loaded.ID)
		}
		plans[id] = seen
	}
	return plans
}

// drawEdit returns a random edit; some make the draft invalid.
func drawEdit(rt *rapid.T) draft {
	pick := func(name string, from []string) string { return rapid.SampledFrom(from).Draw(rt, name) }
	kind := rapid.SampledFrom([]string{
		"agent", "agent", "agent", "agent", "remove agent", "model", "remove model", "pool", "tool", "tool", "remove tool", "plugin", "remove plugin",
		"provider", "remove provider", "defaults", "source", "remove source",
	}).Draw(rt, "edit")
	switch kind {
	case "agent":
		a := drawAgent(rt)
		return func(d *registry.Draft) { d.Agents.Put(a.ID, a) }
	case "remove agent":
		id := pick("agent", carriedAgents)
		return func(d *registry.Draft) { d.Agents.Remove(id) }
	case "model":
		m := &spec.Model{ID: pick("model", carriedModels[:3]), ProviderID: pick("provider", carriedProviders), UpstreamModel: pick("upstream", []string{"up", "down"})}
		return func(d *registry.Draft) { d.Models.Put(m.ID, m) }
	case "remove model":
		id := pick("model", carriedModels[1:])
		return func(d *registry.Draft) { d.Models.Remove(id) }
	case "pool":
		pool := &spec.Pool{ID: "m2"}
		for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom(carriedModels[:2]), 1, 2, rapid.ID).Draw(rt, "members") {
			pool.Members = append(pool.Members, spec.PoolMember{ModelID: id})
		}
		return func(d *registry.Draft) { d.Models.Remove(pool.ID); d.Pools.Put(pool.ID, pool) }
	case "tool":
		id, description := pick("tool", carriedTools), pick("description", []string{"Does it.", "Does it well."})
		return func(d *registry.Draft) { d.Tools.Put(id, echoTool(description)) }
	case "remove tool":
		id := pick("tool", carriedTools)
		return func(d *registry.Draft) { d.Tools.Remove(id) }
	case "plugin":
		id := pick("plugin", carriedPlugins)
		p := rapid.SampledFrom([]plugins.Plugin{
			claims("sx", `{"type":"object"}`), claims("sy", `{"type":"object","required":["k"]}`), brings("bx"), brings("t1"), gated(denyNet),
		}).Draw(rt, "what it does")
		return plugin(id, p)
	case "remove plugin":
		id := pick("plugin", carriedPlugins)
		return func(d *registry.Draft) { d.Plugins.Remove(id) }
	case "provider":
		id := pick("provider", carriedProviders)
		return func(d *registry.Draft) { d.Providers.Put(id, &silent{name: id}) }
	case "remove provider":
		return func(d *registry.Draft) { d.Providers.Remove("p1") }
	case "defaults":
		defaults := drawDefaults(rt)
		return func(d *registry.Draft) { d.Defaults = defaults }
	case "source":
		source := &registry.Source{Spec: spec.RemoteSource{Name: "cloud", BaseURL: "https://cloud.example"}, Discovered: rapid.Bool().Draw(rt, "discovered")}
		if source.Discovered {
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y"}), 0, 2, rapid.ID).Draw(rt, "peers") {
				source.Agents = append(source.Agents, &spec.Agent{
					ID: "cloud/" + name, Registry: "cloud", Description: pick("description", []string{"One.", "Two."}), Endpoint: &spec.Endpoint{Backend: "a2a", BaseURL: "https://cloud.example/" + name},
				})
			}
		}
		return func(d *registry.Draft) { d.Backends.Put("a2a", carriedBackend); d.Sources.Put("cloud", source) }
	default:
		return func(d *registry.Draft) { d.Sources.Remove("cloud") }
	}
}

// carriedBackend is one value, since a backend that changes is a reason to resolve all.
var carriedBackend = factory{}

func drawDefaults(rt *rapid.T) *spec.Defaults {
	if rapid.Bool().Draw(rt, "no defaults") {
		return nil
	}
	return &spec.Defaults{Agent: spec.Agent{ModelID: "m", Sections: spec.Sections{"retry": json.RawMessage(`{"max_retries":2}`)}}}
}

// drawAgent returns an agent that uses some of what there may be.
func drawAgent(rt *rapid.T) *spec.Agent {
	maybe := func(name string) bool { return rapid.IntRange(0, 3).Draw(rt, name) == 0 }
	some := func(name string, from []string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 2, rapid.ID).Draw(rt, name)
	}
	a := &spec.Agent{ID: rapid.SampledFrom(carriedAgents).Draw(rt, "id"), SystemPrompt: spec.Prompt(rapid.SampledFrom([]string{"Be brief.", "Be long."}).Draw(rt, "prompt"))}
	if !maybe("no model") {
		a.ModelID = rapid.SampledFrom(carriedModels).Draw(rt, "model")
	}
	if maybe("described") {
		a.Description = rapid.SampledFrom([]string{"Helps.", "Helps well."}).Draw(rt, "description")
	}
	if maybe("plugins") {
		a.PluginIDs = some("plugin ids", carriedPlugins)
	}
	if maybe("hooks") {
		a.ActiveHookFilter = some("hook filter", carriedPlugins)
	}
	if maybe("allowed") {
		a.AllowedTools = append(spec.Names{}, some("allowed tools", carriedTools)...)
	}
	if maybe("patterns") {
		a.AllowedToolPatterns = append(spec.Names{}, some("allowed patterns", carriedPatterns)...)
	}
	if maybe("excluded") {
		a.ExcludedTools = some("excluded tools", carriedTools)
	}
	if maybe("excluded patterns") {
		a.ExcludedToolPatterns = some("excluded patterns", carriedPatterns[:5])
	}
	if maybe("delegates") {
		a.Delegates = some("delegate ids", append(slices.Clone(carriedAgents[:6]), "cloud/x"))
	}
	if maybe("handoffs") {
		a.Handoffs = some("handoff ids", carriedAgents[:6])
	}
	if maybe("sections") {
		a.Sections = spec.Sections{rapid.SampledFrom([]string{"sx", "sy", "sz", "retry"}).Draw(rt, "section"): json.RawMessage(`{}`)}
	}
	return a
}
