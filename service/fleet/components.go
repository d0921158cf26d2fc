package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/tools"
)

// components are the program's additions to the declarations of a document, by id.
type components struct {
	Tools     []string `json:"tools,omitempty"`
	Plugins   []string `json:"plugins,omitempty"`
	Providers []string `json:"providers,omitempty"`
}

// componentsOf returns the components of a set that no document declares.
func componentsOf(set *registry.Set) components {
	var c components
	for id := range set.Tools.All() {
		if set.Definitions[set.Tools.Path(id)] == "" {
			c.Tools = append(c.Tools, id)
		}
	}
	for id := range set.Plugins.All() {
		if set.Definitions[set.Plugins.Path(id)] == "" {
			c.Plugins = append(c.Plugins, id)
		}
	}
	for id := range set.Providers.All() {
		if set.Definitions[set.Providers.Path(id)] == "" {
			c.Providers = append(c.Providers, id)
		}
	}
	return c
}

func encodeComponents(set *registry.Set) ([]byte, error) {
	c := componentsOf(set)
	if len(c.Tools)+len(c.Plugins)+len(c.Providers) == 0 {
		return nil, nil
	}
	return json.Marshal(c)
}

// missingFrom returns the components that a set lacks.
func (c *components) missingFrom(set *registry.Set) components {
	return components{
		Tools:     slices.DeleteFunc(slices.Clone(c.Tools), func(id string) bool { _, ok := set.Tools.Get(id); return ok }),
		Plugins:   slices.DeleteFunc(slices.Clone(c.Plugins), func(id string) bool { _, ok := set.Plugins.Get(id); return ok }),
		Providers: slices.DeleteFunc(slices.Clone(c.Providers), func(id string) bool { _, ok := set.Providers.Get(id); return ok }),
	}
}

// goneTool replaces a program's tool that existed when a turn began. An agent that sees it cannot
// continue.
type goneTool struct{}

// Descriptor describes nothing.
func (goneTool) Descriptor() tools.Descriptor { return tools.Descriptor{} }

// Call fails.
func (goneTool) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, errors.New("the program does not have this tool any more")
}
