package resolve

import (
	"fmt"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
)

// guardedKey is the Derive key of a revision's guarded tools.
type guardedKey struct{}

// GuardedTools returns the tools of a revision that an agent may not call without approval, or not
// at all: by a rule, or by the default of its rules. Each has the reason. Callers without an agent
// have no such rules. The result is computed once, and read-only.
func GuardedTools(rev *registry.Revision) map[string]string {
	guarded, _ := rev.Derive(guardedKey{}, func() any { return indexOf(rev).guardedTools() }).(map[string]string)
	return guarded
}

// guardedTools returns the tools that agents guard, each with the first such agent.
func (x *index) guardedTools() map[string]string {
	guarded := make(map[string]string)
	ids := x.set.Tools.IDs()
	for _, agentID := range x.set.AgentIDs() {
		t := x.templateOf(agentID)
		if t == nil || t.env == nil || t.seen == nil {
			continue
		}
		seen := t.seen.set()
		for _, id := range ids {
			if _, known := guarded[id]; known || seen.Get(id) == nil {
				continue
			}
			if v := t.verdictOn(id); v.Access != plugins.AccessAllow {
				guarded[id] = fmt.Sprintf("agent %s guards it (%s)", agentID, v.Rule)
			}
		}
	}
	return guarded
}
