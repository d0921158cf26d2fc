package builder

import (
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/registry"
)

// NewEdit returns a builder for a revision's document with an edit. Only the differing parts are
// built. The caller has acquired the revision and releases it after Publish or Close.
func NewEdit(base *registry.Revision, edit *config.DocumentEdit) *AgentRuntimeBuilder {
	b := New()
	b.base, b.set = base, base.Set().Clone()
	for _, id := range edit.Removed["models"] {
		b.set.Models.Remove(id)
	}
	for _, id := range edit.Removed["model_pools"] {
		b.set.Pools.Remove(id)
	}
	for _, id := range edit.Removed["agents"] {
		b.set.Agents.Remove(id)
	}
	for i := range edit.Models {
		b.set.Models.Put(edit.Models[i].ID, &edit.Models[i])
	}
	for i := range edit.Pools {
		b.set.Pools.Put(edit.Pools[i].ID, &edit.Pools[i])
	}
	for _, agent := range edit.Agents {
		b.set.Agents.Put(agent.ID, agent)
	}
	b.set.Document = ""
	if document, err := edit.File.Document(); err == nil {
		b.set.Document = config.HashDocument(document)
	}
	return b
}
