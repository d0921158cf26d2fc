package resolve

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/persist"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// index is the data that resolving computes once per revision: compiled tools and section schemas,
// pools, and a template for each agent. Unchanged data is carried over from the index of the
// previous revision.
type index struct {
	rev *registry.Revision
	set *registry.Set

	*compiledTools
	claims map[string][]claim
	// pipeline claims the sections that the resolver itself reads.
	pipeline []claim
	// found are the problems of tools and plugins, independent of agents.
	found diag.List

	// proven holds all agents after a dry run without errors. Until then, and for other agent
	// names, templates are created on demand.
	proven    atomic.Pointer[templates]
	templates sync.Map // agent id → *slot
	kept      *kept
	suggested sync.Map // unknown id → nearest id
	changes   sync.Map // toolForm → model.ToolChange
	// suggestions counts the elements of suggested.
	suggestions atomic.Int64
	toolboxes   *toolboxes
}

// compiledTools are the global tools of a revision.
type compiledTools struct {
	// tools are the valid tools, in registration order, and global holds the same by id.
	tools  []*toolset.Entry
	global map[string]*toolset.Entry
	// toolIDs are all tool ids, sorted, including those of invalid tools, so that references to
	// them are not reported.
	toolIDs []string
}

// kept is data shared by agents. Revisions share it as long as nothing in it changes.
type kept struct {
	// agentTools are the tools that lead to other agents.
	agentTools *sync.Map // toolset.Source → *agentTool
	pools      *sync.Map // poolKey → *model.Pool
	breakers   *sync.Map // model id → *model.Breaker
}

// slot holds the template of one agent, created at its first resolve.
type slot struct {
	once     sync.Once
	template *template
}

// templates are the templates of agents by id. Revisions share the unchanged parts.
type templates = persist.Map[string, *template]

type indexKey struct{}

// indexOf returns the revision's index, computing it at the first call.
func indexOf(rev *registry.Revision) *index {
	return rev.Derive(indexKey{}, func() any { return newIndex(rev) }).(*index) //nolint:forcetypeassert // only this function stores it
}

// provenAgents returns all agents of a revision, if a dry run found no errors.
func provenAgents(rev *registry.Revision) *templates {
	known, _ := rev.Derived(indexKey{})
	if x, ok := known.(*index); ok {
		return x.proven.Load()
	}
	return nil
}

func newIndex(rev *registry.Revision) *index {
	x := &index{
		rev: rev, set: rev.Set(), pipeline: pipelineClaims(), toolboxes: newToolboxes(),
		kept: &kept{new(sync.Map), new(sync.Map), new(sync.Map)},
	}
	x.compileTools(nil, nil)
	x.compilePlugins(nil, nil)
	return x
}

// nextIndex returns the index of a draft, with the unchanged data of its base revision.
func (x *index) nextIndex(rev *registry.Revision, c *changes) *index {
	next := &index{
		rev: rev, set: rev.Set(), pipeline: x.pipeline, compiledTools: x.compiledTools, claims: x.claims,
		toolboxes: x.toolboxes.clone(), kept: x.keptAfter(c),
	}
	if len(c.tools) > 0 {
		next.compileTools(x.compiledTools, c.ids[onTool])
	}
	if c.anyPlugin {
		next.compilePlugins(x.claims, c.ids[onPlugin])
	}
	return next
}

// keptAfter returns the shared data that changes do not affect.
func (x *index) keptAfter(c *changes) *kept {
	next := *x.kept
	if len(c.ids[onAgent]) > 0 || c.anySource {
		next.agentTools = copyKept(next.agentTools, func(source toolset.Source) bool {
			agent, ok := c.set.Agent(source.Name)
			return ok && agent.Registry == "" && !c.ids[onAgent][source.Name] && !c.ids[onAgent][agent.ID]
		})
	}
	if !c.anyModel() {
		return &next
	}
	same := func(modelID string) bool {
		m, ok := c.set.Models.Get(modelID)
		return ok && !c.ids[onModel][modelID] && !c.ids[onProvider][m.ProviderID]
	}
	next.breakers = copyKept(next.breakers, same)
	next.pools = copyKept(next.pools, func(key poolKey) bool {
		pool, ok := c.set.Pools.Get(key.id)
		return ok && !c.ids[onModel][key.id] &&
			!slices.ContainsFunc(pool.Members, func(m spec.PoolMember) bool { return !same(m.ModelID) })
	})
	return &next
}

// copyKept copies the elements whose keys satisfy keep.
func copyKept[K any](from *sync.Map, keep func(K) bool) *sync.Map {
	to := new(sync.Map)
	from.Range(func(key, value any) bool {
		if keep(key.(K)) { //nolint:forcetypeassert // a map has keys of one type
			to.Store(key, value)
		}
		return true
	})
	return to
}

// compileTools compiles the global tools. It reuses the tools in known that did not change.
func (x *index) compileTools(known *compiledTools, changed map[string]bool) {
	all := x.set.Tools
	x.compiledTools = &compiledTools{
		tools:   make([]*toolset.Entry, 0, all.Len()),
		global:  make(map[string]*toolset.Entry, all.Len()),
		toolIDs: slices.Sorted(slices.Values(all.IDs())),
	}
	for id, tool := range all.All() {
		if known == nil || changed[id] {
			x.compileTool(id, tool)
		} else if entry := known.global[id]; entry != nil {
			x.addTool(entry)
		}
	}
}

func (x *index) compileTool(id string, tool tools.Tool) {
	source := toolset.Source{Kind: toolset.SourceGlobal}
	if owner := x.set.Tools.Owner(id); owner != id {
		source.Name = owner
	}
	entry, list := toolset.Compile(id, tool, source)
	for _, d := range list {
		d.Path = diag.Join(x.set.Tools.Path(id), d.Path)
		x.found = append(x.found, d)
	}
	if entry != nil {
		x.addTool(entry)
	}
}

func (x *index) addTool(entry *toolset.Entry) {
	x.tools = append(x.tools, entry)
	x.global[entry.ID] = entry
}

// compilePlugins compiles the sections of all plugins. It reuses the sections in known that did
// not change.
func (x *index) compilePlugins(known map[string][]claim, changed map[string]bool) {
	x.claims = make(map[string][]claim, x.set.Plugins.Len())
	for id, plugin := range x.set.Plugins.All() {
		if known == nil || changed[id] {
			x.claims[id] = x.compileClaims(id, plugin)
		} else {
			x.claims[id] = known[id]
		}
	}
}

// pipelineClaims compiles the sections that the resolver itself reads, once for all revisions.
var pipelineClaims = sync.OnceValue(func() []claim {
	x := new(index)
	var claims []claim
	for _, section := range Sections() {
		claims = append(claims, x.compileSection(section.Key, "", section))
	}
	return claims
})

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

// poolKey distinguishes the pools of a revision: agents with different limits for silent streams
// watch the members differently.
type poolKey struct {
	id string
	silence
}

// sharedPool returns the revision's only pool for a key. With keep false, for agents used only
// once, it shares an existing pool but does not store a new one.
func (x *index) sharedPool(key poolKey, keep bool, make func() *model.Pool) *model.Pool {
	if p, ok := x.kept.pools.Load(key); ok {
		return p.(*model.Pool) //nolint:forcetypeassert // only pools are stored
	}
	if !keep {
		return make()
	}
	p, _ := x.kept.pools.LoadOrStore(key, make())
	return p.(*model.Pool) //nolint:forcetypeassert // as above
}

// breakerOf returns the revision's only circuit breaker for a model.
func (x *index) breakerOf(modelID string) *model.Breaker {
	if b, ok := x.kept.breakers.Load(modelID); ok {
		return b.(*model.Breaker) //nolint:forcetypeassert // only breakers are stored
	}
	b, _ := x.kept.breakers.LoadOrStore(modelID, model.NewBreaker(modelID))
	return b.(*model.Breaker) //nolint:forcetypeassert // as above
}
