package resolve

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/persist"
	"github.com/agentruntime/agentruntime/registry"
)

// touchedAgents returns the agents that may differ between two revisions, in Diff's order: those
// that were not carried over unchanged. ok is false if that is unknown, because a dry run has not
// proven both.
func touchedAgents(before, after *registry.Revision) (ids []string, ok bool) {
	from, to := provenAgents(before), provenAgents(after)
	if from == nil || to == nil || !definitionsFollow(before.Set(), after.Set()) {
		return nil, false
	}
	touched := make(map[string]bool)
	same := func(a, b *template) bool { return a == b }
	persist.Diff(from, to, same, func(id string) { touched[id] = true })
	return slices.DeleteFunc(agentsOfBoth(before, after), func(id string) bool { return !touched[id] }), true
}

// provenAgents returns all agents of a revision, if a dry run found no errors.
func provenAgents(rev *registry.Revision) *templates {
	known, _ := rev.Derived(indexKey{})
	if x, ok := known.(*index); ok {
		return x.proven.Load()
	}
	return nil
}

// definitionsFollow reports whether every component with a changed definition is a different
// component: then the agents that use it were not carried over.
func definitionsFollow(before, after *registry.Set) bool {
	var changed map[string]bool
	for path, definition := range after.Definitions {
		if was, ok := before.Definitions[path]; ok && was == definition {
			continue
		}
		if changed == nil {
			changed = changedComponents(before, after)
		}
		if !changed[path] {
			return false
		}
	}
	return true
}

// changedComponents returns the paths of the tools and providers that were replaced.
func changedComponents(before, after *registry.Set) map[string]bool {
	paths := make(map[string]bool)
	for _, id := range after.Tools.Changed(before.Tools) {
		paths[after.Tools.Path(id)] = true
	}
	for _, id := range after.Providers.Changed(before.Providers) {
		paths[after.Providers.Path(id)] = true
	}
	for _, id := range after.Plugins.Changed(before.Plugins) {
		paths[after.Plugins.Path(id)] = true
	}
	for _, id := range after.AgentProviders.Changed(before.AgentProviders) {
		paths[after.AgentProviders.Path(id)] = true
	}
	return paths
}
