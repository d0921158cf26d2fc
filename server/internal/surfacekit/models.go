package surfacekit

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/registry"
)

// FindModel returns the id of the model or pool with a name or alias. The empty name returns an
// empty id, which leaves the choice to the agent. Models of a hosted agent are not known here. The
// error names an unknown model and a similar one.
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
	text := fmt.Sprintf("model %q is not available", clip.Text(name))
	if near, ok := nearest.Of(name, slices.Concat(set.Models.IDs(), set.Pools.IDs(), slices.Sorted(maps.Keys(aliases)))); ok {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return "", errors.New(text)
}
