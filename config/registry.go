package config

import (
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// registry is a top-level mapping of ids.
type registry struct {
	name, noun, doc string
	// typ is the record type of the entries; nil if their kind, selected by their type, decides it.
	typ reflect.Type
}

// registries are the top-level mappings, in the order of the documentation.
var registries = []registry{
	{"providers", "provider", "What serves models: id to provider.", nil},
	{modelsKey, "model", "Models: id to a provider's model.", reflect.TypeFor[spec.Model]()},
	{poolsKey, "model pool", "Groups of models that stand in for each other; their ids share the namespace of models.", reflect.TypeFor[spec.Pool]()},
	{toolsKey, "tool", "Tools that agents can use: id to tool.", nil},
	{"plugins", "plugin", "Plugins in addition to the built-in ones: id to plugin.", nil},
	{"agent_providers", "agent provider", "Providers of agents that the runtime hosts: id to agent provider. Agents with endpoint: {backend: provider} run there.", nil},
	{agentsKey, "agent", "Agents: id to agent.", agentType},
	{"schedules", "schedule", "Turns that are made when they are due: id to schedule.", reflect.TypeFor[settings.Schedule]()},
	{workflowsKey, "workflow", "Steps that schedules and events begin: id to workflow.", reflect.TypeFor[workflow.Workflow]()},
}

// entryName returns the name of an entry of a registry of kinds, in the form of a key.
func (r registry) entryName() string { return strings.TrimSuffix(r.name, "s") }

// registryNamed returns the registry with a name, or nil.
func registryNamed(name string) *registry {
	for i := range registries {
		if registries[i].name == name {
			return &registries[i]
		}
	}
	return nil
}

// nounOf returns the noun for entries of a registry; empty for other keys.
func nounOf(key string) string {
	if r := registryNamed(key); r != nil {
		return r.noun
	}
	return ""
}

// topNames are the top-level keys.
func topNames() []string {
	names := []string{"version"}
	for _, r := range registries {
		names = append(names, r.name)
	}
	names = append(names, "remote_agents", "defaults", patchesKey)
	for _, s := range processSettings {
		names = append(names, s.name)
	}
	return names
}

// patchable lists the registries whose entries can be patched.
var patchable = []string{"providers", "models", "model_pools", "tools", "plugins", "agent_providers", "agents", workflowsKey}
