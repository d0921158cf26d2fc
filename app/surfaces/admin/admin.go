// Package admin is the protocol that reads and changes the configuration of a running
// server, as a component of a program.
package admin

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/settings"
)

// Surface returns the surface.
func Surface() app.Surface {
	return app.Surface{Name: settings.SurfaceAdmin, New: newSurface, Scopes: []string{settings.ScopeConfigRead, settings.ScopeConfigWrite, settings.ScopeOwnConfigRead, settings.ScopeOwnConfigWrite}}
}

// newSurface returns nil where the configuration switches the protocol off, and where the
// server asks for no credentials: then it is unknown who may change what others run.
func newSurface(s app.SurfaceSettings) (server.Surface, error) {
	if !s.File.Server.Admin.On() || !s.File.Server.Authenticated() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return admin.New(admin.Settings{Fleet: s.Fleet, Variables: s.Service})
}
