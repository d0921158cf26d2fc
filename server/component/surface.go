// Package component has the types by which a program lists the protocols that it serves.
package component

import (
	"context"
	"io"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/service/workflow"
	"go.uber.org/zap"
)

// Surface is a protocol that the HTTP server speaks.
type Surface struct {
	// Name is also the name of the protocol's webhooks and of its section below server, if any.
	Name string
	// NewSender creates the sender of the protocol's webhooks. It is nil for a protocol without
	// webhooks, and returns nil if the configuration disables them.
	NewSender func(*config.File) (WebhookSender, error)
	// New creates the surface; nil if the configuration disables it.
	New func(Settings) (server.Surface, error)
	// ServeLines serves one client on a stream of lines, until the client closes it or ctx
	// ends; nil for a protocol that needs HTTP.
	ServeLines func(ctx context.Context, s Settings, caller service.Caller, in io.ReadCloser, out io.WriteCloser) error
	// Scopes are the scopes that the protocol's routes need in addition to settings.CommonScopes.
	Scopes []string
	// Roots are the paths below which Errors writes errors before the surface exists. A nil Errors
	// means the server's own format.
	Roots  []string
	Errors server.ErrorWriter
}

// NewSurface returns a protocol below a root, whose surface needs only the service. isOn reports
// whether the configuration enables the protocol.
func NewSurface[S server.Surface](name, root string, errors server.ErrorWriter, isOn func(*settings.Server) bool, create func(server.SurfaceSettings) (S, error)) Surface {
	return Surface{Name: name, Roots: []string{root}, Errors: errors, New: func(s Settings) (server.Surface, error) {
		if !isOn(&s.File.Server) {
			return nil, nil //nolint:nilnil // it is switched off
		}
		return create(server.SurfaceSettings{Service: s.Service, Logger: s.Logger})
	}}
}

// WebhookSender notifies receivers of one protocol about turns.
type WebhookSender interface {
	webhook.Sender
	// Close releases its resources after the last use.
	Close()
}

// Settings are passed to a protocol when its surface is created.
type Settings struct {
	File    *config.File
	Server  *server.Server
	Service *service.Service
	// Fleet holds the revisions, and Workflows runs workflows.
	Fleet     *fleet.Fleet
	Workflows *workflow.Engine
	// Agents are the program's agents written in Go.
	Agents []agents.Definition
	// Version is the version of the program.
	Version string
	Logger  *zap.Logger
	// AtEnd registers a function to call when the app ends, after all requests and turns have
	// finished.
	AtEnd func(func())
	// Accepted returns the credentials that the server currently accepts; a reload may change them.
	Accepted func() AcceptedCredentials
}

// AcceptedCredentials are the kinds of credentials that a server accepts; none if it requires none.
type AcceptedCredentials struct {
	// Keys are API keys.
	Keys bool
	// Issuer is the issuer whose JSON Web Tokens are accepted; empty means none.
	Issuer string
	// Clients reports whether clients can exchange their id and secret for access tokens.
	Clients bool
}
