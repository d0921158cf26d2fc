// Package mcp serves agents as tools of the Model Context Protocol, over streamable HTTP
// and over stdio. A tool call is a turn; the conversation is a session of the runtime. An
// MCP session only carries messages, lives in the memory of one process and belongs to the
// key that opened it.
package mcp

import (
	"cmp"
	"log/slog"
	"net/http"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/buildversion"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
	_ server.ErrorWriter       = (*Surface)(nil)
)

// New returns the surface. It fails without a service that has a runtime.
func New(s Settings) (*Surface, error) {
	if err := surfacekit.CheckService(s.Service); err != nil {
		return nil, err
	}
	s.KeepAlive = cmp.Or(s.KeepAlive, server.DefaultKeepAlive)
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	if s.Draining == nil {
		s.Draining = func() bool { return false }
	}
	for _, text := range []*func() string{&s.PublicURL, &s.Issuer} {
		if *text == nil {
			*text = func() string { return "" }
		}
	}
	made := &Surface{settings: s, owners: map[string]string{}, taskAfter: defaultTaskAfter}
	made.server = made.newServer()
	if err := addTaskMethods(made.server); err != nil {
		return nil, err
	}
	store := mcp.NewMemoryEventStore(nil)
	store.SetMaxBytes(replayBytes)
	serverFor := func(*http.Request) *mcp.Server { return made.server }
	// allowsOrigin replaces the SDK's Host check, and the router limits bodies.
	made.stateful = asUser(mcp.NewStreamableHTTPHandler(serverFor, &mcp.StreamableHTTPOptions{
		EventStore: store, SessionTimeout: sessionIdle, DisableLocalhostProtection: true, MaxRequestBodyBytes: -1,
	}))
	made.stateless = asUser(mcp.NewStreamableHTTPHandler(serverFor, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: -1,
	}))
	return made, nil
}

// newServer returns the SDK server with everything that clients share. The tools depend on the
// caller of each request.
func (s *Surface) newServer() *mcp.Server {
	made := mcp.NewServer(
		&mcp.Implementation{Name: "agentruntime", Title: "Agents", Version: cmp.Or(s.settings.Version, buildversion.Program())},
		&mcp.ServerOptions{
			Logger: slog.New(slog.DiscardHandler), SetCacheable: cachePrivately,
			Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{}, Extensions: map[string]any{tasksExtension: struct{}{}}}, //nolint:staticcheck // versions up to 2025-11-25 have it
		},
	)
	made.AddTool(&mcp.Tool{Name: agentTool, InputSchema: messageSchema}, s.callAgent)
	s.addPrompts(made)
	s.addResources(made)
	made.AddReceivingMiddleware(s.recoverPanics, s.trackSessions, s.replaceTools)
	return made
}

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	var routes []server.Route
	for _, path := range []string{"/mcp", "/mcp/{agent}"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			route := server.Answer(method+" "+path, settings.ScopeRunsWrite, s.serveMessage)
			route.Stream = method != http.MethodDelete
			if method == http.MethodPost {
				route.Audit = server.AuditCreateTurn
			}
			routes = append(routes, route)
		}
	}
	for _, path := range []string{"", "/mcp", "/mcp/{agent}"} {
		routes = append(routes, server.Route{
			Pattern: "GET " + metadataPath + path, Handler: http.HandlerFunc(s.serveMetadata), Public: true, Quiet: true,
		})
	}
	for i := range routes {
		routes[i].ID = routeIDs[routes[i].Pattern]
	}
	return routes
}
