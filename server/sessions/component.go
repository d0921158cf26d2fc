package sessions

import (
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceSessions, Roots: []string{"/api/v1/agent/", "/api/v1/auth/"}, Errors: (*Surface)(nil), New: newComponent}
}

// newComponent returns nil if the configuration disables the protocol.
func newComponent(s component.Settings) (server.Surface, error) {
	c := &s.File.Server.Sessions
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return New(Settings{Service: s.Service, Providers: c.Providers, NarrowingThreshold: c.Threshold(), LegacyMetrics: c.LegacyMetrics, Logger: s.Logger})
}
