package resolve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"pgregory.net/rapid"
)

// TestPropertyEditsOfEveryKindAreCarriedOver publishes random edits one after another,
// in bundles, budgets, circles of agents and what models answer, too.
// After each, the revision must equal one that is built from nothing with the same
// content: in what the dry run reports and in its order, in its hash, and in the
// plan of every agent. What differs from the revision before must be what differs with
// every agent explained anew. A draft that fails must change nothing.
func TestPropertyEditsOfEveryKindAreCarriedOver(t *testing.T) {
	t.Parallel()
	for _, scene := range []struct {
		name   string
		agents int
		edits  int
	}{
		{"few agents", 4, 2},
		{"many edits", 6, 8},
		{"crowd", 40, 1}, // more than are resolved again without a look at how many there are
	} {
		t.Run(scene.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				store := registry.NewStore(resolve.Check)
				e := &editor{T: rt, described: describeRevision(store.Current())}
				e.publish(store, func(d *registry.Draft) { e.fill(d, scene.agents) })
				steps := rapid.IntRange(1, 6).Draw(rt, "steps")
				for range steps {
					edits := e.drawEdits(rapid.IntRange(1, scene.edits).Draw(rt, "edits"))
					e.publish(store, func(d *registry.Draft) {
						for _, edit := range edits {
							edit(d)
						}
					})
				}
			})
		})
	}
}

// editor draws edits.
type editor struct {
	*rapid.T
	version int
	// described is the revision that was published last.
	described []string
}

// publish publishes an edit and compares what comes of it with a revision that is
// built from nothing.
func (e *editor) publish(store *registry.Store, edit func(*registry.Draft)) {
	before := store.Current()
	var content *registry.Set
	rev, err := store.Publish(context.Background(), func(d *registry.Draft) error {
		edit(d)
		content = d.Clone()
		return nil
	})
	anew, anewErr := registry.NewStore(resolve.Check).Publish(context.Background(), func(d *registry.Draft) error {
		d.Set = rebuild(content)
		return nil
	})
	if (err == nil) != (anewErr == nil) {
		e.Fatalf("published: %v\nbuilt from nothing: %v", err, anewErr)
	}
	if err != nil {
		e.compare("the error", describeError(err), describeError(anewErr))
		if store.Current() != before {
			e.Fatal("a draft that failed is current")
		}
		e.compare("the revision before a draft that failed", describeRevision(before), e.described)
		return
	}
	e.compare("the revision before", describeRevision(before), e.described)
	e.described = describeRevision(rev)
	e.compare("the revision", e.described, describeRevision(anew))
	e.compareDiffs(before, rev)
	e.compareDiffs(rev, before)
}

// compareDiffs compares two revisions as Diff does, which looks at what was not carried
// over, and with every agent explained anew.
func (e *editor) compareDiffs(before, after *registry.Revision) {
	e.Helper()
	want, wantErr := resolve.DiffAll(context.Background(), before, after)
	got, err := resolve.Diff(context.Background(), before, after)
	if (err == nil) != (wantErr == nil) {
		e.Fatalf("Diff: %v\nof all agents: %v", err, wantErr)
	}
	describe := func(diffs []resolve.AgentDiff) (out []string) {
		for _, d := range diffs {
			out = append(out, describeJSON(d))
		}
		return out
	}
	e.compare("the diff", describe(got), describe(want))
}

func (e *editor) compare(what string, got, want []string) {
	e.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			e.Fatalf("%s lacks\n%s", what, want[i])
		case i >= len(want):
			e.Fatalf("%s has in addition\n%s", what, got[i])
		case got[i] != want[i]:
			e.Fatalf("%s is\n%s\nand should be\n%s", what, got[i], want[i])
		}
	}
}

// rebuild returns a set with the same entries, which shares no registry with the
// given one.
func rebuild(from *registry.Set) *registry.Set {
	set := registry.NewSet()
	putAll(set.Agents, from.Agents)
	putAll(set.Models, from.Models)
	putAll(set.Pools, from.Pools)
	putAll(set.Providers, from.Providers)
	putAll(set.Plugins, from.Plugins)
	putAll(set.Backends, from.Backends)
	putAll(set.Sources, from.Sources)
	set.Tools, set.Bundles = from.Tools, from.Bundles // only they know what belongs to a bundle
	set.Defaults, set.Available, set.Undeclared = from.Defaults, from.Available, from.Undeclared
	return set
}

func putAll[T any](to, from *registry.Registry[T]) {
	for id, entry := range from.All() {
		to.Put(id, entry)
	}
}

func describeError(err error) []string {
	invalid, ok := errors.AsType[*registry.InvalidError](err)
	if !ok {
		return []string{err.Error()}
	}
	return append(describeList(invalid.Diagnostics), err.Error())
}

func describeList(list diag.List) []string {
	var out []string
	for _, d := range list {
		out = append(out, describeJSON(d))
	}
	return out
}

func describeJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// describeRevision writes everything that can be seen of a revision.
func describeRevision(rev *registry.Revision) []string {
	out := append(describeList(rev.Diagnostics()), rev.Hash())
	for _, id := range rev.Set().AgentIDs() {
		plan, err := resolve.Resolve(context.Background(), rev, id, resolve.Options{})
		if err != nil {
			out = append(out, id+": "+err.Error())
			continue
		}
		if plan.Revision != rev {
			out = append(out, id+": the plan is of another revision")
		}
		out = append(out, id+": "+describePlan(plan))
	}
	return out
}

// describePlan writes everything that can be seen of a plan.
func describePlan(p *resolve.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nmodel %s, retried %v\n", describeJSON(p.Agent), p.Model, p.Retried)
	fmt.Fprintf(&b, "warnings %s\nremote %+v\n", describeJSON(p.Warnings), p.Remote)
	l := p.Local
	if l == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "upstream %s, pool %v, model %s, provider %s, %s, %s\n", l.Upstream, l.Pool, l.ModelID, l.Provider, describeJSON(l.Providers), describeJSON(l.Pricing))
	fmt.Fprintf(&b, "output %d, %d, %+v\n", l.MaxOutput, l.ModelOutput, l.Output)
	fmt.Fprintf(&b, "offered %s\nregistered %+v\n", describeJSON(l.Offered), l.Env.Registrations())
	for _, entry := range l.Tools.Entries() {
		fmt.Fprintf(&b, "tool %s of %+v: %s", entry.ID, entry.Source, describeJSON(entry.Descriptor))
		if own, ok := entry.Tool.(*versioned); ok {
			fmt.Fprintf(&b, ", version %d", own.version)
		}
		b.WriteByte('\n')
	}
	for _, id := range slices.Sorted(maps.Keys(l.Pricing)) {
		fmt.Fprintln(&b, "price of", id)
	}
	for session := range 3 {
		req := &model.Request{Model: l.Upstream, SessionID: fmt.Sprint("session ", session), TurnID: "turn"}
		for event, err := range l.Model.Stream(context.Background(), req) {
			if err != nil {
				fmt.Fprintln(&b, "the model fails:", err)
			} else if event.Type == model.EventText {
				fmt.Fprintln(&b, "asked", event.Delta)
			}
		}
	}
	return b.String()
}

// asked is a provider that answers with its own name and version, and the model.
type asked struct {
	name    string
	version int
}

func (a *asked) Vendor() string { return "vendor of " + a.name }

func (a *asked) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		text := fmt.Sprintf("%s, version %d, for %s", a.name, a.version, req.Model)
		if yield(model.Event{Type: model.EventText, Delta: text}, nil) {
			yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
		}
	}
}

// versioned is a tool of which there may be several versions.
type versioned struct {
	version int
	schema  string
}

func (v *versioned) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: fmt.Sprint("Version ", v.version), Parameters: []byte(v.schema)}
}

func (*versioned) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, nil
}

// pack is a bundle of tools.
type pack struct {
	versioned
	prefix  string
	members []string
	found   diag.List
}

func (p *pack) Prefix() string { return p.prefix }

func (p *pack) Members() ([]tools.Member, diag.List) {
	var members []tools.Member
	for _, id := range p.members {
		members = append(members, tools.Member{ID: p.prefix + id, Tool: &versioned{p.version, `{"type":"object"}`}})
	}
	return members, p.found
}

// reachable is a backend that knows its endpoint.
type reachable struct {
	remote
	url string
}

// What edits draw from. What is repeated is drawn more often.
var (
	modelIDs    = []string{"m0", "m1", "m2"}
	poolIDs     = []string{"p0", "p1"}
	providerIDs = []string{"v0", "v1"}
	pluginIDs   = []string{"guard", "notes", "bringer", "checker"}
	toolIDs     = []string{"read_a", "read_b", "write_a", "write_b", "send", "search", "brought"}
	bundleIDs   = []string{"pack", "kit"}
	sourceIDs   = []string{"peer", "branch"}
	sectionKeys = []string{"guard", "notes", "permission", "retry", "compaction", "unknown"}
	patterns    = []string{"read_*", "write_*", "*_a", "pack_*", "agent_run_*", "hand_off_to_*", "none_*", "*"}
)

func (e *editor) one(label string, ids ...string) string {
	return rapid.SampledFrom(ids).Draw(e.T, label)
}

// rarely is true about once in n times.
func (e *editor) rarely(label string, n int) bool {
	return rapid.IntRange(0, n-1).Draw(e.T, label) == n-1
}

func (e *editor) some(label string, most int, ids ...string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, most, rapid.ID[string]).Draw(e.T, label)
}

func (e *editor) agentID() string {
	return fmt.Sprint("a", rapid.IntRange(0, 7).Draw(e.T, "agent"))
}

func (e *editor) newVersion() int {
	e.version++
	return e.version
}

// fill puts in the beginning: something of every kind, without errors.
func (e *editor) fill(d *registry.Draft, agents int) {
	for _, id := range providerIDs {
		d.Providers.Put(id, &asked{id, 0})
	}
	for i, id := range modelIDs {
		d.Models.Put(id, &spec.Model{
			ID: id, ProviderID: providerIDs[i%2], UpstreamModel: "up-" + id,
			Pricing: &spec.Pricing{InputPerMillion: 1, OutputPerMillion: 2},
		})
	}
	for _, id := range poolIDs {
		d.Pools.Put(id, &spec.Pool{ID: id, Members: []spec.PoolMember{{ModelID: "m0"}, {ModelID: "m1"}}})
	}
	for _, id := range pluginIDs {
		d.Plugins.Put(id, pluginOf(id, 0))
	}
	for _, id := range toolIDs[:6] {
		d.Tools.Put(id, &versioned{0, `{"type":"object"}`})
	}
	for i := range 24 { // so that a change of one is not a change of most
		id := fmt.Sprint("more_", i)
		d.Tools.Put(id, &versioned{0, `{"type":"object"}`})
	}
	d.Backends.Put("a2a", factory{make: func(e *spec.Endpoint) (backend.Backend, error) {
		return &reachable{url: e.BaseURL}, nil
	}})
	for i := range agents {
		id := fmt.Sprint("a", i)
		a := &spec.Agent{ID: id, ModelID: modelIDs[i%3]}
		switch i {
		case 0:
			a.Delegates = []string{"a1"}
		case 1:
			a.Delegates = []string{"a0", "peer/x"}
		case 2:
			cost := 1.5
			a.Delegates, a.Budgets = []string{"a0"}, &spec.Budgets{MaxCost: &cost}
		case 3:
			a.Handoffs, a.Sections = []string{"a0"}, spec.Sections{"notes": json.RawMessage(`{}`)}
		}
		d.Agents.Put(id, a)
	}
	d.Sources.Put("peer", &registry.Source{
		Spec: spec.RemoteSource{Name: "peer", BaseURL: "https://peer.example"}, Discovered: true,
		Agents: []*spec.Agent{{ID: "peer/x", Registry: "peer", Endpoint: &spec.Endpoint{BaseURL: "https://peer.example"}}},
	})
}

// pluginOf returns a version of a plugin. Those of odd versions claim, guard or
// bring something else.
func pluginOf(id string, version int) plugins.Plugin {
	odd := version%2 == 1
	switch id {
	case "guard":
		p := claims("guard", `{"type":"object","properties":{"level":{"type":"integer"}}}`)
		p.sections[0].Guards = !odd
		p.sections = append(p.sections, plugins.Section{Key: "permission", Schema: []byte(`{"type":"object"}`)})
		return p
	case "notes":
		if odd {
			return claims("other", `{"type":"object"}`)
		}
		return claims("notes", `{"type":"object"}`)
	case "bringer":
		if odd {
			return brings("brought", "extra")
		}
		return brings("brought")
	}
	return gated(func(tool string) plugins.Verdict {
		if strings.HasPrefix(tool, "write") != odd {
			return plugins.Verdict{Access: plugins.AccessDeny, Rule: "no"}
		}
		return plugins.Verdict{}
	})
}

// drawEdits draws what is to be done to a draft, which may be called repeatedly.
func (e *editor) drawEdits(n int) []draft {
	edits := make([]draft, n)
	for i := range edits {
		switch kind := e.one("kind", "agent", "agent", "field", "field", "field", "field", "remove agent", "model", "pool", "provider",
			"plugin", "tool", "tool", "bundle", "source", "defaults", "available"); kind {
		case "agent":
			edits[i] = e.editAgent()
		case "field":
			edits[i] = e.editField()
		case "remove agent":
			id := e.agentID()
			edits[i] = func(d *registry.Draft) { d.Agents.Remove(id) }
		case "model":
			edits[i] = e.editModel()
		case "pool":
			edits[i] = e.editPool()
		case "provider":
			edits[i] = e.editProvider()
		case "plugin":
			edits[i] = e.editPlugin()
		case "tool":
			edits[i] = e.editTool()
		case "bundle":
			edits[i] = e.editBundle()
		case "source":
			edits[i] = e.editSource()
		case "defaults":
			edits[i] = e.editDefaults()
		case "available":
			id := e.one("plugin", pluginIDs...)
			edits[i] = func(d *registry.Draft) { d.Available[id] = !d.Available[id] }
		}
	}
	return edits
}

func (e *editor) editAgent() draft {
	a := e.drawAgent(e.agentID())
	return func(d *registry.Draft) { d.Agents.Put(a.ID, a) }
}

// editField changes a field or two of an agent that is there.
func (e *editor) editField() draft {
	id, change := e.agentID(), &spec.Agent{}
	e.drawField(change)
	return func(d *registry.Draft) {
		if known, ok := d.Agents.Get(id); ok {
			a, _ := (&spec.Defaults{Agent: *known}).Apply(change)
			a.ID, a.Endpoint = known.ID, known.Endpoint
			d.Agents.Put(id, a)
		}
	}
}

// drawAgent draws an agent that mostly is right as long as what it names is there.
func (e *editor) drawAgent(id string) *spec.Agent {
	a := &spec.Agent{ID: id}
	if e.rarely("far away", 8) {
		a.Endpoint = &spec.Endpoint{BaseURL: e.one("url", "https://x.example", "https://y.example")}
		return a
	}
	a.ModelID = e.one("model", append(modelIDs, poolIDs...)...)
	for range rapid.IntRange(0, 4).Draw(e.T, "fields") {
		e.drawField(a)
	}
	return a
}

func (e *editor) drawField(a *spec.Agent) {
	switch e.one("field", "description", "prompt", "plugins", "filter", "tools", "patterns", "excluded", "excluded patterns",
		"delegates", "delegates", "delegates", "handoffs", "section", "section", "section", "budgets", "tool budgets", "stop", "policy") {
	case "description":
		a.Description = e.one("description", "One.", "Two.")
	case "prompt":
		a.SystemPrompt = spec.Prompt(e.one("prompt", "Be brief.", "Be kind.\nAnd brief."))
	case "plugins":
		a.PluginIDs = e.some("plugins", 3, pluginIDs...)
	case "filter":
		a.ActiveHookFilter = e.some("filter", 2, pluginIDs...)
	case "tools":
		a.AllowedTools = e.some("tools", 3, append(toolIDs, "pack_x", "raed_a", "agent_run_a1")...)
	case "patterns":
		a.AllowedToolPatterns = e.some("patterns", 2, patterns...)
	case "excluded":
		a.ExcludedTools = e.some("excluded", 2, append(toolIDs, "agent_run_a2", "pack_y")...)
	case "excluded patterns":
		a.ExcludedToolPatterns = e.some("excluded patterns", 2, patterns...)
	case "delegates":
		a.Delegates = e.some("delegates", 2, "a0", "a1", "a2", "a3", "local/a1", "peer/x", "x", "branch/y")
	case "handoffs":
		a.Handoffs = e.some("handoffs", 2, "a0", "a1", "a2", "a3", "local/a2")
	case "section":
		key := e.one("section", sectionKeys...)
		if a.Sections == nil {
			a.Sections = spec.Sections{}
		}
		a.Sections[key] = e.drawSection(key)
	case "budgets":
		cost := 1.5
		a.Budgets = &spec.Budgets{MaxCost: &cost, Currency: e.one("currency", "", "USD", "EUR")}
	case "tool budgets":
		a.ToolBudgets = map[string]spec.ToolBudget{e.one("tool", append(toolIDs, "pack_x", "sennd")...): {MaxCalls: 2}}
	case "stop":
		a.StopConditions = []spec.StopCondition{{Type: spec.StopOnTool, ToolName: e.one("tool", append(toolIDs, "pack_x")...)}}
	case "policy":
		a.ContextPolicy = &spec.ContextPolicy{MaxContextTokens: new(9_000), SummaryModelID: e.one("summary model", "", "m1", "p1"), AutocompactThreshold: new(5_000)}
	}
}

func (e *editor) drawSection(key string) json.RawMessage {
	switch key {
	case "permission":
		rules := make([]string, 0, 2)
		for _, tool := range e.some("rules", 2, append(toolIDs, "pack_x", "wirte_a", "read_*")...) {
			rules = append(rules, fmt.Sprintf(`{"tool":%q}`, tool))
		}
		return json.RawMessage(`{"rules":[` + strings.Join(rules, ",") + `]}`)
	case "retry":
		return json.RawMessage(e.one("retry", `{"max_retries":0}`, `{"max_retries":1}`, `{"stream_idle_timeout":"5s"}`))
	case "compaction":
		return json.RawMessage(e.one("compaction", `{}`, `{"summary_model":"m2"}`))
	}
	return json.RawMessage(e.one("value", `{}`, `{}`, `{"level":1}`, `{"level":"high"}`))
}

func (e *editor) editModel() draft {
	id := e.one("model", append(modelIDs, "m3", "p0")...)
	if e.rarely("remove", 6) {
		return func(d *registry.Draft) { d.Models.Remove(id) }
	}
	m := &spec.Model{ID: id, ProviderID: e.one("provider", providerIDs...), UpstreamModel: e.one("upstream", "up", "upper")}
	if e.rarely("priced", 2) {
		m.Pricing = &spec.Pricing{InputPerMillion: 1, OutputPerMillion: 2, Currency: e.one("currency", "", "EUR")}
	}
	if e.rarely("limited", 2) {
		m.ContextWindow, m.MaxOutputTokens = new(8_000), new(1_000)
	}
	if e.rarely("broken", 12) {
		m.ProviderID = "missing"
	}
	return func(d *registry.Draft) { d.Models.Put(id, m) }
}

func (e *editor) editPool() draft {
	id := e.one("pool", append(poolIDs, "p2")...)
	if e.rarely("remove", 6) {
		return func(d *registry.Draft) { d.Pools.Remove(id) }
	}
	p := &spec.Pool{ID: id}
	for _, member := range e.some("members", 3, append(modelIDs, "m3")...) {
		p.Members = append(p.Members, spec.PoolMember{ModelID: member})
	}
	if len(p.Members) > 1 && e.rarely("failover", 3) {
		p.Members[1].Role = spec.RoleFailoverOnly
	}
	return func(d *registry.Draft) { d.Pools.Put(id, p) }
}

func (e *editor) editProvider() draft {
	id := e.one("provider", append(providerIDs, "v2")...)
	if e.rarely("remove", 6) {
		return func(d *registry.Draft) { d.Providers.Remove(id) }
	}
	p := &asked{id, e.newVersion()}
	return func(d *registry.Draft) { d.Providers.Put(id, p) }
}

func (e *editor) editPlugin() draft {
	id := e.one("plugin", pluginIDs...)
	if e.rarely("remove", 5) {
		return func(d *registry.Draft) { d.Plugins.Remove(id) }
	}
	p := pluginOf(id, e.newVersion())
	if e.rarely("broken", 12) {
		p = panicking{}
	}
	return func(d *registry.Draft) { d.Plugins.Put(id, p) }
}

func (e *editor) editTool() draft {
	id := e.one("tool", append(toolIDs, "pack_x")...)
	if e.rarely("remove", 4) {
		return func(d *registry.Draft) { d.Tools.Remove(id) }
	}
	t := &versioned{e.newVersion(), e.one("schema", `{"type":"object"}`, `{"type":"object","properties":{"q":{"type":"string"}}}`)}
	if e.rarely("broken", 12) {
		t.schema = `{"type":7}`
	}
	return func(d *registry.Draft) { d.Tools.Put(id, t) }
}

func (e *editor) editBundle() draft {
	id := e.one("bundle", bundleIDs...)
	p := &pack{versioned: versioned{version: e.newVersion()}, prefix: id + "_", members: e.some("members", 3, "x", "y", "z")}
	if e.rarely("warns", 4) {
		p.found = diag.List{diag.New(diag.UnmatchedTool, "tools", "a tool of the bundle is missing")}
	}
	return func(d *registry.Draft) {
		if _, ok := d.Bundles.Get(id); ok {
			d.Bundles.Put(id, &registry.Bundle{Source: p})
			_ = d.RefreshBundle(id)
			return
		}
		_ = d.AddTool(id, p)
	}
}

func (e *editor) editSource() draft {
	name := e.one("source", sourceIDs...)
	if e.rarely("remove", 4) {
		return func(d *registry.Draft) { d.Sources.Remove(name) }
	}
	s := &registry.Source{Spec: spec.RemoteSource{Name: name, BaseURL: "https://" + name + ".example"}, Discovered: !e.rarely("undiscovered", 3)}
	s.Position = slices.Index(sourceIDs, name)
	if s.Discovered {
		for _, agent := range e.some("agents", 3, "x", "y", "a1") {
			s.Agents = append(s.Agents, &spec.Agent{
				ID: name + "/" + agent, Registry: name, Description: e.one("description", "Far.", "Farther."),
				Endpoint: &spec.Endpoint{BaseURL: s.Spec.BaseURL},
			})
		}
	}
	return func(d *registry.Draft) { d.Sources.Put(name, s) }
}

func (e *editor) editDefaults() draft {
	if e.rarely("remove", 3) {
		return func(d *registry.Draft) { d.Defaults = nil }
	}
	defaults := &spec.Defaults{}
	e.drawField(&defaults.Agent)
	return func(d *registry.Draft) { d.Defaults = defaults }
}
