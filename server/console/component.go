package console

import (
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceConsole, New: newComponent}
}

// newComponent returns nil if the configuration does not enable the console.
func newComponent(s component.Settings) (server.Surface, error) {
	if !s.File.Server.ServesConsole() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return surface{}, nil
}
