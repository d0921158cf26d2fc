// Package workflows is the protocol of workflows over HTTP as a component of a program.
package workflows

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/workflows"
	"github.com/agentruntime/agentruntime/settings"
)

// Surface returns the surface.
func Surface() app.Surface { return app.Surface{Name: settings.SurfaceWorkflows, New: newSurface} }

// newSurface returns nil where the configuration disables the protocol.
func newSurface(s app.SurfaceSettings) (server.Surface, error) {
	if !s.File.Server.Workflows.On() {
		return nil, nil //nolint:nilnil // it is disabled
	}
	return workflows.New(s.Workflows)
}
