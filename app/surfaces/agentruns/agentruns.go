// Package agentruns is the protocol by which clients start runs of agents over HTTP and
// run tools for them, as a component of a program.
package agentruns

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
	"go.uber.org/zap"
)

// TokenPrefix is what clients of the protocol expect access tokens to begin with; see
// app.Components.
const TokenPrefix = agentruns.TokenPrefix

// Surface returns the surface.
func Surface() app.Surface {
	return app.Surface{Name: settings.SurfaceAgentRuns, New: newSurface, Scopes: []string{agentruns.ScopeIdentity}}
}

// newSurface returns nil where the configuration switches the protocol off.
func newSurface(s app.SurfaceSettings) (server.Surface, error) {
	c := &s.File.Server.AgentRuns
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return agentruns.New(agentruns.Settings{
		Service: s.Service, PublicURL: s.Server.URL(), LocalToolTimeout: c.LocalToolTime(), Tools: c.Tools, StrictToolResults: c.StrictToolResults, Logger: s.Logger,
		EncryptionKey: s.File.Server.EncryptionBytes(),
	})
}

// NewTurnTools makes the tools that clients run themselves. It is what
// app.Components.TurnTools is to be in a program without package turntools, which adds
// the MCP servers and agents that a request names.
func NewTurnTools(_ *config.File, logger *zap.Logger) service.TurnTools {
	return agentruns.NewTurnTools(agentruns.TurnToolsSettings{Logger: logger})
}
