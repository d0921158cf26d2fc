package app

import (
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store/driver"
	"go.uber.org/zap"
)

// Components is everything that a configuration can use. Package shipped lists the components that
// come with the runtime.
type Components struct {
	// Kinds are the allowed values of a configuration's type fields.
	Kinds config.Kinds
	// Plugins are the plugins that agents may name without declaring them.
	Plugins []Plugin
	// Backends create the factories for agents that run elsewhere.
	Backends []func(*zap.Logger) backend.Factory
	// Stores keep sessions and turns. A configuration selects one.
	Stores []driver.Driver
	// ManageProviders sets the manager that serves hosted agent providers' requests for sessions
	// and turns; nil if none are hosted.
	ManageProviders func(providerproto.Manager)
	// Surfaces are the protocols that the HTTP server serves.
	Surfaces []component.Surface
	// TokenPrefix is the prefix of access tokens issued by the server; see server.OAuthSettings.
	TokenPrefix string
	// TurnTools returns the factory of tools that requests bring along; nil allows no such tools.
	TurnTools func(*config.File, *zap.Logger) service.TurnTools
	// Configure adds the program's tools, plugins, providers and agents to every builder; nil
	// adds nothing.
	Configure func(*builder.AgentRuntimeBuilder)
	// Provider returns a provider that serves agents to the host that starts the process; nil if
	// the program cannot be started this way.
	Provider func(component.ProviderSettings) (component.Provider, error)
	// agents were added with AddAgents.
	agents []agents.Definition
}

// AddAgents adds agents written in Go to the program. Agents with only code are part of every
// configuration; the others must be declared there. All protocols of the program run them, and
// its agents API shows their state according to their options.
func (c *Components) AddAgents(list ...agents.Definition) error {
	if len(list) == 0 {
		return nil
	}
	all := slices.Concat(c.agents, list)
	if err := agents.Install(builder.New(), all...); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.Surfaces, func(s component.Surface) bool { return s.Name == settings.SurfaceAgents }) {
		return errors.New("agents with Go code need the agents API among the surfaces of the program")
	}
	c.agents = all
	return nil
}

// Plugin is a plugin that agents may name, and its id.
type Plugin struct {
	ID     string
	Plugin plugins.Plugin
}

// ConfigKinds returns the kinds of components, stores, server protocols and agent sections that a
// configuration may use.
func (c *Components) ConfigKinds() config.Kinds {
	k := c.Kinds
	k.Scopes = c.Scopes()
	k.Stores, k.Surfaces = make([]string, len(c.Stores)), make([]string, len(c.Surfaces))
	for i := range c.Stores {
		k.Stores[i] = c.Stores[i].Name
	}
	for i := range c.Surfaces {
		k.Surfaces[i] = c.Surfaces[i].Name
	}
	k.Sections = resolve.Sections()
	for _, p := range c.Plugins {
		k.Sections = slices.Concat(k.Sections, p.Plugin.Descriptor().Sections)
	}
	return k
}

// Scopes returns all scopes that routes of the server need.
func (c *Components) Scopes() []string {
	all := slices.Clone(settings.CommonScopes)
	for i := range c.Surfaces {
		all = append(all, c.Surfaces[i].Scopes...)
	}
	return all
}

// NewBuilder returns a builder with all components.
func (c *Components) NewBuilder(logger *zap.Logger) *builder.AgentRuntimeBuilder {
	b := builder.New().WithLogger(logger)
	for _, p := range c.Plugins {
		b.WithAvailablePlugin(p.ID, p.Plugin)
	}
	for _, newBackend := range c.Backends {
		b.WithBackend(newBackend(logger))
	}
	if c.Configure != nil {
		c.Configure(b)
	}
	if len(c.agents) > 0 {
		_ = agents.Install(b, c.agents...) // AddAgents tried it
	}
	return b
}

// StartupErrors returns the error formats of the protocols, for use before they are mounted.
func (c *Components) StartupErrors() []server.SurfaceErrors {
	var list []server.SurfaceErrors
	for i := range c.Surfaces {
		for _, root := range c.Surfaces[i].Roots {
			list = append(list, server.SurfaceErrors{Root: root, Writer: c.Surfaces[i].Errors})
		}
	}
	return list
}
