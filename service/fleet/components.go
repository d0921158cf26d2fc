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
	return components{undeclared(set, set.Tools), undeclared(set, set.Plugins), undeclared(set, set.Providers)}
}

// undeclared returns the entries of a registry that no document declares.
func undeclared[T any](set *registry.Set, r *registry.Registry[T]) (ids []string) {
	for id := range r.All() {
		if set.Definitions[r.Path(id)] == "" {
			ids = append(ids, id)
		}
	}
	return ids
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
	return components{lackingFrom(set.Tools, c.Tools), lackingFrom(set.Plugins, c.Plugins), lackingFrom(set.Providers, c.Providers)}
}

// lackingFrom returns the ids that a registry lacks.
func lackingFrom[T any](r *registry.Registry[T], ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := r.Get(id); return ok })
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
