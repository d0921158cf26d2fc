// Package sessions implements the HTTP protocol of Gestalt's agents: sessions of a provider,
// turns with tools chosen by the caller, events with a display for people, and interactions.
// Sessions and turns map to those in the service, so every replica can show, follow and cancel
// the work of any other.
package sessions

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// Settings configures the surface. Service is required and must have a runtime.
type Settings struct {
	Service *service.Service
	// Providers are the providers that clients may name for a session. If empty, there is one,
	// settings.DefaultSessionProvider, without an agent.
	Providers map[string]settings.SessionProvider
	// NarrowingThreshold limits the tools given to a turn that names none; 0 means
	// settings.DefaultNarrowingThreshold.
	NarrowingThreshold int
	// LegacyMetrics also measures operations and tool calls under Gestalt's names.
	LegacyMetrics bool
	// KeepAlive is the interval of comments on an idle stream; 0 means server.DefaultKeepAlive.
	KeepAlive time.Duration
	// Logger logs internal errors; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Surface is the protocol. It is safe for concurrent use.
type Surface struct {
	settings   Settings
	providers  []provider
	operations *telemetry.Operations
}

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
	_ server.ErrorWriter       = (*Surface)(nil)
	_ server.FailureWriter     = (*Surface)(nil)
)

// New returns the surface. It fails without a service that has a runtime.
func New(s Settings) (*Surface, error) {
	if err := surfacekit.CheckService(s.Service); err != nil {
		return nil, err
	}
	s.NarrowingThreshold = cmp.Or(s.NarrowingThreshold, settings.DefaultNarrowingThreshold)
	s.KeepAlive = cmp.Or(s.KeepAlive, server.DefaultKeepAlive)
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	observer := s.Service.Runtime().Telemetry()
	operations, err := observer.NewOperations(s.LegacyMetrics)
	if err != nil {
		return nil, err
	}
	observer.SetLegacyToolMetrics(s.LegacyMetrics)
	return &Surface{settings: s, providers: newProviders(s.Providers), operations: operations}, nil
}

// call is a request being handled and its caller.
type call struct {
	*Surface
	w      http.ResponseWriter
	r      *http.Request
	caller service.Caller
	// status is the status of a successful response.
	status int
	// provider is the name of the call's provider, once known.
	provider string
	// depth is the number of turns that led to the turn that the call creates.
	depth int
}

// authInfo is the login method: a token that clients already have.
type authInfo struct {
	Provider       string `json:"provider"`
	DisplayName    string `json:"displayName"`
	LoginSupported bool   `json:"loginSupported"`
	Features       struct {
		Agent bool `json:"agent" optional:"true"`
	} `json:"features"`
}

func serveAuthInfo(w http.ResponseWriter, _ *http.Request) {
	info := authInfo{Provider: "token", DisplayName: "Access token"}
	info.Features.Agent = true
	_ = server.WriteJSON(w, http.StatusOK, info) // a client that is gone needs no answer
}

// resolveHarness responds with the program that a client runs for a provider, which never exists.
func (c *call) resolveHarness() (any, error) {
	var in harnessRequest
	if err := c.readBody(&in); err != nil {
		return nil, err
	}
	if _, err := c.chooseProvider(strings.TrimSpace(in.Provider)); err != nil {
		return nil, err
	}
	return nil, badRequest("no agent harness is configured: the server runs the agents itself")
}
