package agentruns

import (
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceAgentRuns, Roots: []string{"/api/v1/workspaces/", "/api/a2a/"}, Errors: (*Surface)(nil), New: newComponent, Scopes: []string{scopeIdentity}}
}

// newComponent returns nil if the configuration disables the protocol.
func newComponent(s component.Settings) (server.Surface, error) {
	c := &s.File.Server.AgentRuns
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return New(Settings{
		Service: s.Service, PublicURL: s.Server.URL(), LocalToolTimeout: c.LocalToolTime(), Tools: c.Tools, ToolBudgets: c.ToolBudgets, StrictToolResults: c.StrictToolResults, Logger: s.Logger,
		EncryptionKey: s.File.Server.EncryptionBytes(),
	})
}

// NewClientTools creates the tools that clients execute. It is app.Components.TurnTools in a program
// without package shipped, which adds the MCP servers and agents that a request names.
func NewClientTools(_ *config.File, logger *zap.Logger) service.TurnTools {
	return NewTurnTools(TurnToolsSettings{Logger: logger})
}
