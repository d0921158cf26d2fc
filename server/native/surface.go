// Package native is the runtime's own HTTP protocol: sessions, turns, interactions, and events as
// stored. It has a Surface for the server, a Client for Go programs, and Local, a Client within the
// service's process.
package native

import (
	"cmp"
	"errors"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
	"go.uber.org/zap"
)

// Prefix is the prefix of the protocol's paths.
const Prefix = "/runtime/v1"

// Surface is the protocol. It is safe for concurrent use.
type Surface struct {
	settings server.SurfaceSettings
}

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
)

// New returns the surface. It fails if the settings have no service; the service needs no runtime.
func New(s server.SurfaceSettings) (*Surface, error) {
	if s.Service == nil {
		return nil, errors.New("the settings have no service")
	}
	s.KeepAlive = cmp.Or(s.KeepAlive, server.DefaultKeepAlive)
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Surface{settings: s}, nil
}

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.NewSurface(settings.SurfaceNative, Prefix+"/", nil, func(s *settings.Server) bool { return s.Native.On() }, New)
}
