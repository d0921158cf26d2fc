package keys

import (
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// Registry is a top-level mapping of ids.
type Registry struct {
	Name, Noun, Doc string
	// typ is the record type of the entries; nil if their kind, selected by their type, decides it.
	Type reflect.Type
}

// Registries are the top-level mappings, in the order of the documentation.
var Registries = []Registry{
	{"providers", "provider", "What serves models: id to provider.", nil},
	{Models, "model", "Models: id to a provider's model.", reflect.TypeFor[spec.Model]()},
	{Pools, "model pool", "Groups of models that stand in for each other; their ids share the namespace of models.", reflect.TypeFor[spec.Pool]()},
	{Tools, "tool", "Tools that agents can use: id to tool.", nil},
	{"plugins", "plugin", "Plugins in addition to the built-in ones: id to plugin.", nil},
	{"agent_providers", "agent provider", "Providers of agents that the runtime hosts: id to agent provider. Agents with endpoint: {backend: provider} run there.", nil},
	{Agents, "agent", "Agents: id to agent.", AgentType},
	{"schedules", "schedule", "Turns that are made when they are due: id to schedule.", reflect.TypeFor[settings.Schedule]()},
	{Workflows, "workflow", "Steps that schedules and events begin: id to workflow.", reflect.TypeFor[workflow.Workflow]()},
}

// EntryName returns the name of an entry of a registry of kinds, in the form of a key.
func (r Registry) EntryName() string { return strings.TrimSuffix(r.Name, "s") }

// RegistryNamed returns the registry with a name, or nil.
func RegistryNamed(name string) *Registry {
	for i := range Registries {
		if Registries[i].Name == name {
			return &Registries[i]
		}
	}
	return nil
}

// NounOf returns the noun for entries of a registry; empty for other keys.
func NounOf(key string) string {
	if r := RegistryNamed(key); r != nil {
		return r.Noun
	}
	return ""
}

// Top are the top-level keys.
func Top() []string {
	names := []string{"version"}
	for _, r := range Registries {
		names = append(names, r.Name)
	}
	names = append(names, "remote_agents", "defaults", Patches)
	for _, s := range Settings {
		names = append(names, s.Name)
	}
	return names
}

// Patchable lists the registries whose entries can be patched.
var Patchable = []string{"providers", "models", "model_pools", "tools", "plugins", "agent_providers", "agents", Workflows}
