package surfacekit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/registry"
)

// ModelError reports an unknown model.
type ModelError struct {
	// Name is the requested model, and Nearest a similar name; empty if absent.
	Name, Nearest string
}

// Error names both.
func (e *ModelError) Error() string {
	text := fmt.Sprintf("model %q is not available", clip.Text(e.Name))
	if e.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", e.Nearest)
	}
	return text
}

// FindModel returns the id of the model or pool with a name or alias. The empty name returns an
// empty id, which leaves the choice to the agent. Models of a hosted agent are not known here. The
// error is a *ModelError.
func FindModel(set *registry.Set, agentID, name string, aliases map[string]string) (string, error) {
	id := name
	if target, ok := aliases[name]; ok {
		id = target
	}
	if agent, ok := set.Agent(agentID); ok && agent.Hosted() {
		return id, nil
	}
	_, isModel := set.Models.Get(id)
	_, isPool := set.Pools.Get(id)
	if id == "" || isModel || isPool {
		return id, nil
	}
	near, _ := nearest.Of(name, slices.Concat(set.Models.IDs(), set.Pools.IDs(), slices.Sorted(maps.Keys(aliases))))
	return "", &ModelError{name, near}
}
