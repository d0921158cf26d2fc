package main

import (
	"slices"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/log"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/command"
	httptool "github.com/agentruntime/agentruntime/tools/http"
)

// kinds is every kind of component that a configuration may name in a type
// field.
func kinds() config.Kinds {
	k := config.Kinds{
		Providers: []model.ProviderKind{scripted.Kind(), openai.Kind()},
		Tools:     []tools.Kind{httptool.Kind(), command.Kind()},
		Plugins:   []plugins.Kind{log.Kind()},
		Sections:  resolve.Sections(),
	}
	for _, p := range shipped() {
		k.Sections = slices.Concat(k.Sections, p.plugin.Descriptor().Sections)
	}
	return k
}

// shippedPlugin is a plugin that agents may name without declaring it.
type shippedPlugin struct {
	id     string
	plugin plugins.Plugin
}

// shipped is every such plugin.
func shipped() []shippedPlugin {
	return []shippedPlugin{
		{"permission", permission.New()},
	}
}

// newBuilder returns a builder that knows all that the program comes with.
func newBuilder() *builder.AgentRuntimeBuilder {
	b := builder.New()
	for _, p := range shipped() {
		b.WithAvailablePlugin(p.id, p.plugin)
	}
	return b
}
