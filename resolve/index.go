package resolve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// index is what resolving computes once per revision: compiled tools and
// section schemas, pools, and a template for each agent.
type index struct {
	rev *registry.Revision
	set *registry.Set

	// tools are the global tools that are sound, in registration order, and
	// global the same by id.
	tools  []*toolset.Entry
	global map[string]*toolset.Entry
	// toolIDs are the ids of all global tools, sorted, unsound ones included:
	// what names one of them is no mistake.
	toolIDs []string
	claims  map[string][]claim
	// pipeline claims the sections that resolving itself reads.
	pipeline []claim
	// found is what is wrong with tools and plugins by themselves.
	found diag.List

	templates sync.Map // agent id → *slot
	// agentTools are the tools that lead to other agents.
	agentTools sync.Map // toolset.Source → *agentTool
	pools      sync.Map // poolKey → *model.Pool
	breakers   sync.Map // model id → *model.Breaker
	suggested  sync.Map // what was looked for → nearest id
	// suggestions counts the elements of suggested.
	suggestions atomic.Int64
	toolboxes   *toolboxes
}

// claim is a section that a plugin claims, with its schema compiled. The
// schema is nil when it does not compile.
type claim struct {
	plugin string
	plugins.Section
	schema *schema.Schema
}

// decodeSection returns what the plugin makes of a section that satisfies the schema;
// raw is nil when the agent does not have it. The error is a panic of the plugin.
func (c *claim) decodeSection(raw json.RawMessage) (v any, found diag.List, err error) {
	if c.Decode == nil {
		return raw, nil, nil
	}
	err = callGuarded("the decoder of section "+strconv.Quote(c.Key), func() { v, found = c.Decode(raw) })
	return v, found, err
}

// slot holds the template of one agent, made at its first resolve.
type slot struct {
	once     sync.Once
	template *template
}

type indexKey struct{}

// indexOf returns the revision's index, computing it at the first call.
func indexOf(rev *registry.Revision) *index {
	return rev.Derive(indexKey{}, func() any { return newIndex(rev) }).(*index) //nolint:forcetypeassert // only this function stores it
}

func newIndex(rev *registry.Revision) *index {
	set := rev.Set()
	x := &index{
		rev: rev, set: set, claims: make(map[string][]claim), toolboxes: newToolboxes(),
		tools:  make([]*toolset.Entry, 0, set.Tools.Len()),
		global: make(map[string]*toolset.Entry, set.Tools.Len()),
	}
	for id, tool := range set.Tools.All() {
		source := toolset.Source{Kind: toolset.SourceGlobal}
		if owner := set.Tools.Owner(id); owner != id {
			source.Name = owner
		}
		entry, list := toolset.Compile(id, tool, source)
		for _, d := range list {
			d.Path = diag.Join(set.Tools.Path(id), d.Path)
			x.found = append(x.found, d)
		}
		if entry != nil {
			x.tools = append(x.tools, entry)
			x.global[id] = entry
		}
	}
	x.toolIDs = slices.Sorted(slices.Values(set.Tools.IDs()))
	for id, plugin := range set.Plugins.All() {
		x.claims[id] = x.compileClaims(id, plugin)
	}
	for _, section := range Sections() {
		x.pipeline = append(x.pipeline, x.compileSection(section.Key, "", section))
	}
	return x
}

// compileClaims compiles the sections of a plugin.
func (x *index) compileClaims(id string, plugin plugins.Plugin) []claim {
	path := x.set.Plugins.Path(id)
	var d plugins.Descriptor
	if err := callGuarded("Descriptor", func() { d = plugin.Descriptor() }); err != nil {
		x.found = append(x.found, diag.New(diag.EnvBuild, path, "plugin %s: %v", id, err).AtKey())
		return nil
	}
	claims := make([]claim, 0, len(d.Sections))
	for _, section := range d.Sections {
		claims = append(claims, x.compileSection(id, path, section))
	}
	return claims
}

func (x *index) compileSection(plugin, path string, section plugins.Section) claim {
	c := claim{plugin: plugin, Section: section}
	compiled, err := schema.Compile(section.Schema)
	if err != nil {
		x.found = append(x.found, diag.New(diag.InvalidSchema, path,
			"plugin %s: the schema of its section %q is not a valid JSON Schema: %v", plugin, section.Key, err).AtKey())
		return c
	}
	c.schema = compiled
	return c
}

// callGuarded calls what a component implements. A panic there becomes an error
// that names what was called.
func callGuarded(what string, call func()) (err error) {
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("panic in %s: %v", what, p.Value)
	})
	call()
	return nil
}

// templateOf returns what resolving the agent comes to; nil when there is no such
// agent.
func (x *index) templateOf(id string) *template {
	found, ok := x.templates.Load(id)
	if !ok {
		if _, ok := x.set.Agent(id); !ok {
			return nil
		}
		found, _ = x.templates.LoadOrStore(id, new(slot))
	}
	s := found.(*slot) //nolint:forcetypeassert // only slots are stored
	s.once.Do(func() { s.template = x.resolveAgent(id, nil) })
	return s.template
}

// poolKey tells apart the pools of a revision: agents that wait differently long
// for a silent stream watch the members differently.
type poolKey struct {
	id   string
	idle time.Duration
}

// sharedPool returns the one pool of the revision for a key. One that is not kept,
// for an agent that will not come again, is shared only if it is there already.
func (x *index) sharedPool(key poolKey, keep bool, make func() *model.Pool) *model.Pool {
	if p, ok := x.pools.Load(key); ok {
		return p.(*model.Pool) //nolint:forcetypeassert // only pools are stored
	}
	if !keep {
		return make()
	}
	p, _ := x.pools.LoadOrStore(key, make())
	return p.(*model.Pool) //nolint:forcetypeassert // as above
}

// breakerOf returns the one circuit breaker of the revision for a model.
func (x *index) breakerOf(modelID string) *model.Breaker {
	if b, ok := x.breakers.Load(modelID); ok {
		return b.(*model.Breaker) //nolint:forcetypeassert // only breakers are stored
	}
	b, _ := x.breakers.LoadOrStore(modelID, model.NewBreaker(modelID))
	return b.(*model.Breaker) //nolint:forcetypeassert // as above
}

// suggestion identifies a search for the nearest id.
type suggestion struct{ kind, id string }

// maxSuggestions is how many answers of nearest are kept. What is looked for may
// come from outside, and must not make the revision grow for ever.
const maxSuggestions = 4096

// nearestID returns the id of a registry that looks most like a missing one. A
// file may repeat one mistake thousands of times, so answers are kept.
func (x *index) nearestID(kind, id string, candidates func() []string) string {
	key := suggestion{kind, id}
	if found, ok := x.suggested.Load(key); ok {
		return found.(string) //nolint:forcetypeassert // only strings are stored
	}
	found, _ := nearest.Of(id, candidates())
	if x.suggestions.Load() < maxSuggestions {
		if _, known := x.suggested.LoadOrStore(key, found); !known {
			x.suggestions.Add(1)
		}
	}
	return found
}
