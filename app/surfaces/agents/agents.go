// Package agents is the agents API over HTTP as a component of a program.
package agents

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/agents"
	"github.com/agentruntime/agentruntime/settings"
)

// Surface returns the surface.
func Surface() app.Surface { return app.Surface{Name: settings.SurfaceAgents, New: newSurface} }

// newSurface returns nil where the configuration disables the protocol.
func newSurface(s app.SurfaceSettings) (server.Surface, error) {
	if !s.File.Server.Agents.On() {
		return nil, nil //nolint:nilnil // it is disabled
	}
	return agents.New(agents.Settings{Service: s.Service, Logger: s.Logger})
}
