package resolve

import (
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// changes is the difference between the set of a draft and the revision it is based on.
type changes struct {
	set, old *registry.Set
	// agents are the declared agents whose records differ.
	agents []string
	// ids are the changed entries of each kind; tools are the changed entries of kind onTool.
	ids   [dependencyKinds]map[string]bool
	tools []string
	// anyTool, anyPlugin and anySource are set if an entry of a kind differs.
	anyTool, anyPlugin, anySource bool
}

// compareSets returns the difference between a set and an older one; nil if everything must be
// resolved again.
func compareSets(set, old *registry.Set) *changes {
	if set.Defaults != old.Defaults || set.Tenants != old.Tenants || len(set.Backends.Changed(old.Backends)) > 0 ||
		!maps.EqualFunc(set.Undeclared, old.Undeclared, slices.Equal[[]spec.KindSection]) {
		return nil
	}
	c := &changes{set: set, old: old, agents: set.Agents.Changed(old.Agents)}
	models, pools := append(set.Models.Changed(old.Models), changedLimits(set, old)...), set.Pools.Changed(old.Pools)
	providers, plugins := set.Providers.Changed(old.Providers), set.Plugins.Changed(old.Plugins)
	hosts := set.AgentProviders.Changed(old.AgentProviders)
	c.tools = set.Tools.Changed(old.Tools)
	bundles, sources := set.Bundles.Changed(old.Bundles), set.Sources.Changed(old.Sources)
	replaced := slices.Concat(pathsOf(set.Tools, c.tools), pathsOf(set.Providers, providers),
		pathsOf(set.Plugins, plugins), pathsOf(set.AgentProviders, hosts))
	if 4*len(c.tools) > set.Tools.Len() || !sameToolOrder(set, old, c.tools) || !c.definitionsFollow(replaced) {
		return nil
	}
	c.anyPlugin = len(plugins) > 0 || !set.Plugins.SameOrder(old.Plugins)
	c.anyTool = len(c.tools)+len(bundles) > 0
	c.anySource = len(sources) > 0 || !set.Sources.SameOrder(old.Sources)
	c.ids[onModel] = setOf(slices.Concat(models, pools))
	c.ids[onProvider], c.ids[onPlugin], c.ids[onAgentProvider] = setOf(providers), setOf(plugins), setOf(hosts)
	c.ids[onTool], c.ids[onRecord] = setOf(c.tools), setOf(c.agents)
	c.ids[onAgent] = setOf(slices.DeleteFunc(slices.Clone(c.agents), c.looksTheSame))
	return c
}

// changedLimits returns the models whose servers state other limits than before.
func changedLimits(set, old *registry.Set) (ids []string) {
	for _, id := range set.Models.IDs() {
		if set.Limits[id] != old.Limits[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

func setOf(ids []string) map[string]bool {
	if len(ids) == 0 {
		return nil
	}
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// definitionsFollow reports whether every component whose definition differs was replaced, so that
// the agents that use it are resolved again. replaced are the paths of all replaced components.
func (c *changes) definitionsFollow(replaced []string) bool {
	for path, definition := range c.set.Definitions {
		if c.old.Definitions[path] != definition && !slices.Contains(replaced, path) {
			return false
		}
	}
	return true
}

func pathsOf[T any](r *registry.Registry[T], ids []string) []string {
	paths := make([]string, len(ids))
	for i, id := range ids {
		paths[i] = r.Path(id)
	}
	return paths
}

// sameToolOrder reports whether the unchanged tools are in the same order as before.
func sameToolOrder(set, old *registry.Set, changed []string) bool {
	if len(changed) == 0 {
		return set.Tools.SameOrder(old.Tools)
	}
	unchanged := func(r *registry.Set) []string {
		return slices.DeleteFunc(slices.Clone(r.Tools.IDs()), func(id string) bool {
			_, found := slices.BinarySearch(changed, id)
			return found
		})
	}
	return slices.Equal(unchanged(set), unchanged(old))
}

// anyModel reports whether a model, pool or provider differs.
func (c *changes) anyModel() bool {
	return len(c.ids[onModel])+len(c.ids[onProvider])+len(c.ids[onAgentProvider]) > 0
}

// looksTheSame reports whether a changed declared agent looks the same to its callers. An agent that
// is remote, or was, never does.
func (c *changes) looksTheSame(id string) bool {
	now, ok := c.set.Agents.Get(id)
	before, was := c.old.Agents.Get(id)
	if !ok || !was || !now.Local() || !before.Local() {
		return false
	}
	now, _ = c.set.Defaults.Apply(now)
	before, _ = c.old.Defaults.Apply(before)
	return now.Description == before.Description
}

// affect reports whether an agent of the older set may resolve differently.
func (c *changes) affect(id string, t *template) bool {
	if c.ids[onRecord][id] || c.anySource && (t.anySource || t.agent.Registry != "") ||
		c.anyTool && t.anyTool || c.anyPlugin && t.anyPlugin {
		return true
	}
	for _, on := range t.named {
		if c.ids[on.kind][on.id] {
			return true
		}
	}
	return t.catalog != nil && slices.ContainsFunc(c.tools, t.catalog.Concerns)
}
