package main

import (
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/anthropic"
	"github.com/agentruntime/agentruntime/model/google"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/log"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/command"
	httptool "github.com/agentruntime/agentruntime/tools/http"
	mcptool "github.com/agentruntime/agentruntime/tools/mcp"
)

// components is everything that a configuration can put agents together from.
type components struct {
	// kinds are the values that the type fields of a configuration may have.
	kinds config.Kinds
	// plugins are those that agents may name without declaring them.
	plugins []availablePlugin
	// backends reach the agents that run elsewhere.
	backends []backend.Factory
}

// availablePlugin is a plugin that comes with the program, and its id.
type availablePlugin struct {
	id     string
	plugin plugins.Plugin
}

// shipped is all that this program comes with.
func shipped() components {
	return components{
		kinds: config.Kinds{
			Providers: []model.ProviderKind{scripted.Kind(), openai.Kind(), anthropic.Kind(), google.Kind()},
			Tools:     []tools.Kind{httptool.Kind(), command.Kind(), mcptool.Kind()},
			Plugins:   []plugins.Kind{log.Kind()},
		},
		plugins: []availablePlugin{
			{"permission", permission.New()},
		},
	}
}

// known returns the kinds together with the sections that agents may have.
func (c *components) known() config.Kinds {
	k := c.kinds
	k.Sections = resolve.Sections()
	for _, p := range c.plugins {
		k.Sections = slices.Concat(k.Sections, p.plugin.Descriptor().Sections)
	}
	return k
}

// builder returns a builder that knows all components.
func (c *components) builder() *builder.AgentRuntimeBuilder {
	b := builder.New()
	for _, p := range c.plugins {
		b.WithAvailablePlugin(p.id, p.plugin)
	}
	for _, f := range c.backends {
		b.WithBackend(f)
	}
	return b
}
