// Package native is the runtime's own protocol, which the commands with --server speak,
// as a component of a program.
package native

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/settings"
)

// Surface returns the surface.
func Surface() app.Surface { return app.Surface{Name: settings.SurfaceNative, New: newSurface} }

// newSurface returns nil where the configuration switches the protocol off.
func newSurface(s app.SurfaceSettings) (server.Surface, error) {
	if !s.File.Server.Native.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return native.New(native.Settings{Service: s.Service, Logger: s.Logger})
}
