package admin

import (
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceAdmin, New: newComponent, Scopes: []string{settings.ScopeConfigRead, settings.ScopeConfigWrite, settings.ScopeOwnConfigRead, settings.ScopeOwnConfigWrite}}
}

// newComponent returns nil if the configuration disables the protocol, or if no caller could use
// it: without credentials callers never change the configuration, and only read it where the web
// console shows it.
func newComponent(s component.Settings) (server.Surface, error) {
	f := &s.File.Server
	used := f.Authenticated() || f.Local() && f.ServesConsole()
	if !f.Admin.On() || !used {
		return nil, nil //nolint:nilnil // it is switched off
	}
	surface := &Surface{fleet: s.Fleet, service: s.Service, logins: newPendingLogins()}
	s.AtEnd(surface.logins.close)
	return surface, nil
}
