package app

import (
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
	"go.uber.org/zap"
)

// Components is everything that a configuration can put agents together from.
// Package shipped has the list of those that come with the runtime.
type Components struct {
	// Kinds are the values that the type fields of a configuration may have.
	Kinds config.Kinds
	// Plugins are those that agents may name without declaring them.
	Plugins []Plugin
	// Backends make what reaches the agents that run elsewhere.
	Backends []func(*zap.Logger) backend.Factory
	// Stores keep sessions and turns. A configuration names one of them.
	Stores []StoreDriver
	// Surfaces are the protocols that the HTTP server speaks.
	Surfaces []Surface
	// TokenPrefix is what the access tokens begin with that the server issues; see
	// server.OAuthSettings.
	TokenPrefix string
	// TurnTools makes what makes the tools that turns bring along; nil lets turns
	// bring none.
	TurnTools func(*config.File, *zap.Logger) service.TurnTools
	// Configure adds to every builder what the program makes itself: tools, plugins,
	// providers, agents; nil adds nothing.
	Configure func(*builder.AgentRuntimeBuilder)
	// Provider makes what serves agents to a host that starts the process; nil for a
	// program that cannot be started so.
	Provider func(ProviderSettings) (Provider, error)
}

// Plugin is a plugin that agents may name, and its id.
type Plugin struct {
	ID     string
	Plugin plugins.Plugin
}

// ConfigKinds returns what a configuration may name: the kinds, the stores, the protocols
// of the server, and the sections that agents may have.
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

// NewBuilder returns a builder that knows all components.
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
	return b
}

// StoreDriver returns the driver of the store that a configuration names. One that the
// program was built without fails with a *MissingStoreError wherever it is used.
func (c *Components) StoreDriver(f *config.File) *StoreDriver {
	names := make([]string, 0, len(c.Stores))
	for i := range c.Stores {
		if c.Stores[i].Name == f.Store.Driver {
			return &c.Stores[i]
		}
		names = append(names, c.Stores[i].Name)
	}
	return missingStore(&MissingStoreError{Name: f.Store.Driver, Known: names})
}
