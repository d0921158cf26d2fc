package native

import (
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceNative, New: newComponent}
}

// newComponent returns nil if the configuration disables the protocol.
func newComponent(s component.Settings) (server.Surface, error) {
	if !s.File.Server.Native.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return New(Settings{Service: s.Service, Logger: s.Logger})
}
