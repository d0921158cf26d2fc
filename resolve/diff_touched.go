package resolve

import (
	"slices"

	"github.com/agentruntime/agentruntime/registry"
)

// touchedAgents returns the agents that may differ between two revisions, in Diff's order: those
// that were not carried over unchanged. ok is false if that is unknown, because a dry run has not
// proven both.
func touchedAgents(before, after *registry.Revision) (ids []string, ok bool) {
	from, to := provenAgents(before), provenAgents(after)
	if from == nil || to == nil {
		return nil, false
	}
	return slices.DeleteFunc(agentsOfBoth(before, after), func(id string) bool {
		old, _ := from.Get(id)
		now, _ := to.Get(id)
		return old == now
	}), true
}

// provenAgents returns all agents of a revision, if a dry run found no errors.
func provenAgents(rev *registry.Revision) *templates {
	known, _ := rev.Derived(indexKey{})
	if x, ok := known.(*index); ok {
		return x.proven.Load()
	}
	return nil
}
