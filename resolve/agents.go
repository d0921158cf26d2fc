package resolve

import (
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// agentPath returns the path of an agent in a configuration.
func agentPath(set *registry.Set, agent *spec.Agent) string {
	if agent.Registry == "" {
		return set.Agents.Path(agent.ID)
	}
	if src, ok := set.Sources.Get(agent.Registry); ok {
		return src.Path()
	}
	return ""
}

// hasAgent reports whether a set has an agent with the id. Short names of a peer's agents do not
// count.
func hasAgent(set *registry.Set, id string) bool {
	agent, ok := set.Agent(id)
	return ok && agent.ID == id
}

// remoteIDs returns the ids of the agents of all sources.
func remoteIDs(set *registry.Set) (ids []string) {
	for _, src := range set.Sources.All() {
		for _, agent := range src.Agents {
			ids = append(ids, agent.ID)
		}
	}
	return ids
}
