// Package native is the runtime's own HTTP protocol: sessions, turns, interactions, and events as
// stored. It has a Surface for the server, a Client for Go programs, and Local, a Client within the
// service's process.
package native

import (
	"cmp"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// Prefix is the prefix of the protocol's paths.
const Prefix = "/runtime/v1"

// Settings configures the surface. Service is required.
type Settings struct {
	Service *service.Service
	// KeepAlive is the interval of comments on an idle stream; 0 means server.DefaultKeepAlive.
	KeepAlive time.Duration
	// Logger logs internal errors; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Surface is the protocol. It is safe for concurrent use.
type Surface struct {
	settings Settings
}

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
)

// New returns the surface. It fails if the settings have no service.
func New(s Settings) (*Surface, error) {
	if s.Service == nil {
		return nil, errors.New("the settings have no service")
	}
	s.KeepAlive = cmp.Or(s.KeepAlive, server.DefaultKeepAlive)
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Surface{settings: s}, nil
}
