// Package sessions is the protocol of Gestalt's sessions and turns as a component of a
// program.
package sessions

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/sessions"
	"github.com/agentruntime/agentruntime/settings"
)

// Surface returns the surface.
func Surface() app.Surface { return app.Surface{Name: settings.SurfaceSessions, New: newSurface} }

// newSurface returns nil where the configuration switches the protocol off.
func newSurface(s app.SurfaceSettings) (server.Surface, error) {
	c := &s.File.Server.Sessions
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return sessions.New(sessions.Settings{Service: s.Service, Providers: c.Providers, NarrowingThreshold: c.Threshold(), LegacyMetrics: c.LegacyMetrics, Logger: s.Logger})
}
