package registry

import (
	"maps"
	"strings"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/tools"
)

// Set combines all registries of a runtime. The set of a published revision is read-only.
type Set struct {
	Agents    *Registry[*spec.Agent]
	Models    *Registry[*spec.Model]
	Pools     *Registry[*spec.Pool]
	Providers *Registry[model.Executor]
	Tools     *Registry[tools.Tool]
	// Bundles are the entries that represent many tools; the tools themselves are in Tools.
	Bundles *Registry[*Bundle]
	Plugins *Registry[plugins.Plugin]
	// AgentProviders are the providers of agents that the runtime hosts.
	AgentProviders *Registry[backend.AgentProvider]
	Backends       *Registry[backend.Factory]
	// Sources are the peers whose agents are discovered, by name.
	Sources *Registry[*Source]
	// Workflows run agents and tools step by step.
	Workflows *Registry[*workflow.Workflow]
	// Limits are the model limits that servers state, by model ID. The hash excludes them. The map
	// is read-only.
	Limits map[string]model.Limits
	// Defaults are merged under every local agent; nil for none.
	Defaults *spec.Defaults
	// Tenants defines what tenants may set for themselves; nil for nothing.
	Tenants *spec.Tenants
	// Available names plugins included with the program. Agents may name them, but an unused one is
	// not reported.
	Available map[string]bool
	// Undeclared are the kinds of plugins that a configuration could declare and
	// does not: the sections that they claim, by type.
	Undeclared map[string][]spec.KindSection
	// Definitions are fingerprints of the configuration's declarations of providers, tools and
	// plugins, by their path, as in tools.weather. Two components that describe themselves alike
	// may still behave differently. A component created in Go has none.
	Definitions map[string]string
	// Declarations are the declarations of components that depend on nothing else, by their path;
	// see Adopt. They are not part of the content.
	Declarations map[string]Declaration
	// Document names the configuration document that declares the set; empty for entries from Go.
	// It is not part of the content.
	Document string
	// Tenant names the tenant whose overlay the set has; empty for none. Tenants with identical
	// overlays still have separate revisions, because their secrets differ.
	Tenant string
}

// Source is a peer whose agents are discovered.
type Source struct {
	Spec spec.RemoteSource
	// Position is the index of the source in the configuration's list.
	Position int
	// Broken is set if the source's record has errors, so that it must not be queried.
	Broken bool
	// Discovered is set once the peer has been queried.
	Discovered bool
	// Agents are the peer's agents, with ids "<source>/<agent>".
	Agents []*spec.Agent
}

// Bundle is an entry for many tools, with the tools that it listed when added to the set. It is
// immutable.
type Bundle struct {
	Source tools.Bundle
	// Found are the diagnostics of the tools, with paths relative to the entry.
	Found diag.List
}

// Declaration is the configuration's declaration of a component that depends on nothing else.
type Declaration struct {
	// Type is the type of the kind. Dir is the base of relative paths in the settings.
	Type, Dir string
	// Settings is the settings record, including secrets.
	Settings any
}

// Path returns the configuration path of the source.
func (s *Source) Path() string { return diag.Index("remote_agents", s.Position) }

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{
		Agents:    newRegistry[*spec.Agent]("agent", "agents"),
		Models:    newRegistry[*spec.Model]("model", "models"),
		Pools:     newRegistry[*spec.Pool]("model pool", "model_pools"),
		Providers: newRegistry[model.Executor]("provider", "providers"),
		Tools:     newRegistry[tools.Tool]("tool", "tools"),
		Bundles:   newRegistry[*Bundle]("tool", "tools"),
		Plugins:   newRegistry[plugins.Plugin]("plugin", "plugins"),
		Backends:  newRegistry[backend.Factory]("backend", "backends"),

		AgentProviders: newRegistry[backend.AgentProvider]("agent provider", "agent_providers"),

		Sources:   newRegistry[*Source]("remote source", "remote_agents"),
		Workflows: newRegistry[*workflow.Workflow]("workflow", "workflows"),
		Available: make(map[string]bool),

		Undeclared:  make(map[string][]spec.KindSection),
		Definitions: make(map[string]string),

		Declarations: make(map[string]Declaration),
	}
}

// AddModel adds a model. A *DuplicateError reports that the id is taken by another model, in which
// case nothing changes, or by a pool, in which case the model is still added: references to the id
// are then ambiguous.
func (s *Set) AddModel(m *spec.Model) error {
	if err := s.Models.Add(m.ID, m); err != nil {
		return err
	}
	if _, taken := s.Pools.Get(m.ID); taken {
		return &DuplicateError{Kind: s.Models.kind, ID: m.ID, Other: s.Pools.kind, path: s.Models.Path(m.ID)}
	}
	return nil
}

// AddPool adds a pool. A *DuplicateError reports that the id is taken by another pool, in which
// case nothing changes, or by a model, in which case the pool is still added: references to the id
// are then ambiguous.
func (s *Set) AddPool(p *spec.Pool) error {
	if err := s.Pools.Add(p.ID, p); err != nil {
		return err
	}
	if _, taken := s.Models.Get(p.ID); taken {
		return &DuplicateError{Kind: s.Pools.kind, ID: p.ID, Other: s.Models.kind, path: s.Pools.Path(p.ID)}
	}
	return nil
}

// AddSource adds a source of remote agents under its name. A *DuplicateError
// reports that the name is taken, in which case nothing changes.
func (s *Set) AddSource(source *Source) error {
	name := source.Spec.Name
	if _, taken := s.Sources.Get(name); taken {
		return &DuplicateError{Kind: s.Sources.kind, ID: name, path: diag.Join(source.Path(), "name")}
	}
	s.Sources.Put(name, source)
	return nil
}

// SplitSource splits the id of a remote agent, "<source>/<agent>", at its first
// slash; source is empty if it has none.
func SplitSource(id string) (source, agent string) {
	if source, agent, ok := strings.Cut(id, "/"); ok {
		return source, agent
	}
	return "", id
}

// Agent returns the agent with an id. "x" is the declared agent x, or else the agent x of the first
// source that has one; "local/x" is only the declared agent x; "source/x" is the agent x of that
// source.
func (s *Set) Agent(id string) (*spec.Agent, bool) {
	if agent, ok := s.Agents.Get(id); ok {
		return agent, true
	}
	source, name := SplitSource(id)
	if source == spec.LocalSource {
		return s.Agents.Get(name)
	}
	for n, src := range s.Sources.All() {
		if name != id && n != source {
			continue
		}
		for _, agent := range src.Agents {
			if _, remote := SplitSource(agent.ID); remote == name {
				return agent, true
			}
		}
	}
	return nil, false
}

// Undiscovered reports whether an id names an agent of a source that was not queried yet, so that
// it is unknown whether the agent exists.
func (s *Set) Undiscovered(id string) bool {
	name, agent := SplitSource(id)
	source, ok := s.Sources.Get(name)
	return ok && agent != "" && !source.Discovered
}

// AgentIDs returns the ids of all agents: declared agents in insertion order, then the agents of
// each source.
func (s *Set) AgentIDs() []string {
	ids := append([]string(nil), s.Agents.IDs()...)
	for _, src := range s.Sources.All() {
		for _, agent := range src.Agents {
			ids = append(ids, agent.ID)
		}
	}
	return ids
}

// Clone returns a copy whose registries can be changed without changing s. The
// entries are shared.
func (s *Set) Clone() *Set {
	c := &Set{
		Agents:    s.Agents.clone(),
		Models:    s.Models.clone(),
		Pools:     s.Pools.clone(),
		Providers: s.Providers.clone(),
		Tools:     s.Tools.clone(),
		Bundles:   s.Bundles.clone(),
		Plugins:   s.Plugins.clone(),
		Backends:  s.Backends.clone(),

		AgentProviders: s.AgentProviders.clone(),

		Sources:   s.Sources.clone(),
		Workflows: s.Workflows.clone(),
		Limits:    s.Limits,
		Defaults:  s.Defaults,
		Tenants:   s.Tenants,
		Available: maps.Clone(s.Available),

		Undeclared:  maps.Clone(s.Undeclared),
		Definitions: maps.Clone(s.Definitions),

		Declarations: maps.Clone(s.Declarations),
		Document:     s.Document,
		Tenant:       s.Tenant,
	}
	return c
}
