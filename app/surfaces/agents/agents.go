// Package agents is the agents API over HTTP as a component of a program, with the agents
// that the program makes with Go code.
package agents

import (
	"slices"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/server"
	serveragents "github.com/agentruntime/agentruntime/server/agents"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
)

// Surface returns the surface for the agents of configurations.
func Surface() app.Surface { return newSurface(nil) }

// Add gives a program agents that are made with Go code. Those of code alone are part of
// every configuration; the others are declared there under their names. All protocols of
// the program run them, and its agents API shows their state as their options want. Once
// the app has started, the program itself uses them, too.
func Add(c *app.Components, list ...agents.Definition) error {
	if err := agents.Install(builder.New(), list...); err != nil {
		return err
	}
	configure := c.Configure
	c.Configure = func(b *builder.AgentRuntimeBuilder) {
		if configure != nil {
			configure(b)
		}
		_ = agents.Install(b, list...) // it was tried above
	}
	isOther := func(s app.Surface) bool { return s.Name == settings.SurfaceAgents }
	c.Surfaces = append(slices.DeleteFunc(slices.Clone(c.Surfaces), isOther), newSurface(list))
	return nil
}

// newSurface returns the surface for agents of Go code and those of configurations.
func newSurface(list []agents.Definition) app.Surface {
	return app.Surface{Name: settings.SurfaceAgents, New: func(s app.SurfaceSettings) (server.Surface, error) {
		set, err := agents.NewSet(agents.Settings{Service: s.Service, Agents: list, Key: s.File.Server.EncryptionBytes()})
		if err != nil {
			return nil, err
		}
		s.AtEnd(set.Close)
		if !s.File.Server.Agents.On() {
			return nil, nil //nolint:nilnil // it is disabled
		}
		return serveragents.New(serveragents.Settings{
			Service: s.Service, Agents: set, Exposed: service.NewAgentSet(s.File.Server.Agents.Agents), MaxWait: s.File.Server.Agents.WaitTime(), Logger: s.Logger,
		})
	}}
}
