package agents

import (
	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceAgents, Roots: []string{"/agents/"}, Errors: (*Surface)(nil), New: newComponent}
}

// newComponent binds the agents written in Go to the service. It returns nil if the configuration
// disables the protocol.
func newComponent(s component.Settings) (server.Surface, error) {
	set, err := agents.NewSet(agents.Settings{Service: s.Service, Agents: s.Agents, Key: s.File.Server.EncryptionBytes()})
	if err != nil {
		return nil, err
	}
	s.AtEnd(set.Close)
	c := &s.File.Server.Agents
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return New(Settings{Service: s.Service, Agents: set, Exposed: service.NewAgentSet(c.Agents), MaxWait: c.WaitTime(), Logger: s.Logger})
}
