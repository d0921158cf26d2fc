package agentruns

import (
	"net/http"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

const (
	workspacePath = "/api/v1/workspaces/{workspace}"
	a2aPath       = "/api/a2a/{workspace}"
)

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	stream := s.newRoute("GET "+workspacePath+"/agent-runs/{id}/stream", settings.ScopeRunsRead, (*call).streamRun)
	stream.Stream = true
	// The response takes as long as the run.
	send := s.newRoute("POST "+a2aPath+"/agents/{agent}", settings.ScopeA2AInvoke, (*call).a2aSend)
	send.Stream = true
	create := s.newRoute("POST "+workspacePath+"/agent-runs", settings.ScopeRunsWrite, (*call).createRun)
	message := s.newRoute("POST "+workspacePath+"/agent-sessions/{id}/messages", settings.ScopeSessionsWrite, (*call).sendMessage)
	create.Begins, message.Begins, send.Begins = true, true, true
	audited := map[string]string{
		create.Pattern: server.AuditCreateTurn, message.Pattern: server.AuditCreateTurn, send.Pattern: server.AuditCreateTurn,
		"POST " + workspacePath + "/agent-runs/{id}/tool-results":               server.AuditResolveInteraction,
		"POST " + workspacePath + "/agent-runs/{id}/interactions/{interaction}": server.AuditResolveInteraction,
		"POST " + workspacePath + "/agent-runs/{id}/cancel":                     server.AuditCancelTurn,
		"POST " + workspacePath + "/agent-sessions":                             server.AuditCreateSession,
		"DELETE " + workspacePath + "/agent-sessions/{id}":                      server.AuditUpdateSession,
	}
	return server.AuditRoutes(audited, []server.Route{
		s.newRoute("GET "+workspacePath+"/models", settings.ScopeModelsRead, (*call).listModels),
		create,
		s.newRoute("GET "+workspacePath+"/agent-runs/{id}", settings.ScopeRunsRead, (*call).readRun),
		stream,
		s.newRoute("POST "+workspacePath+"/agent-runs/{id}/tool-results", settings.ScopeRunsWrite, (*call).toolResult),
		s.newRoute("POST "+workspacePath+"/agent-runs/{id}/interactions/{interaction}", settings.ScopeRunsWrite, (*call).resolveInteraction),
		s.newRoute("POST "+workspacePath+"/agent-runs/{id}/cancel", settings.ScopeRunsWrite, (*call).cancelRun),
		s.newRoute("POST "+workspacePath+"/agent-sessions", settings.ScopeSessionsWrite, (*call).createSession),
		s.newRoute("GET "+workspacePath+"/agent-sessions/{id}", settings.ScopeSessionsRead, (*call).readSession),
		message,
		s.newRoute("DELETE "+workspacePath+"/agent-sessions/{id}", settings.ScopeSessionsWrite, (*call).endSession),
		s.newRoute("GET "+workspacePath+"/agent-sessions", settings.ScopeSessionsRead, rejectUnsupported(nil, "lists of sessions are not supported: keep the IDs of sessions")),
		s.newRoute("GET "+workspacePath+"/agent-sessions/{id}/events", settings.ScopeSessionsRead, rejectUnsupported(func(c *call) error {
			_, err := c.getSession(c.r.Context())
			return err
		}, "events of sessions are not supported: read the messages of the session")),
		s.newRoute("POST "+workspacePath+"/agent-runs/{id}/feedback", settings.ScopeRunsWrite, rejectUnsupported(func(c *call) error {
			_, err := c.getRun(c.r.Context())
			return err
		}, "feedback is not supported")),
		s.newRoute("GET /api/oauth/userinfo", ScopeIdentity, (*call).userInfo),
		send,
		s.newRoute("GET "+a2aPath+"/agents/{agent}/.well-known/agent-card.json", settings.ScopeA2ADiscovery, (*call).a2aCard),
		s.newRoute("GET "+a2aPath+"/discovery", settings.ScopeA2ADiscovery, (*call).a2aDiscovery),
	})
}

// rejectUnsupported rejects requests for features that the server lacks. find, which may
// be nil, returns an error if the record of the path does not exist.
func rejectUnsupported(find func(*call) error, text string) func(*call) error {
	return func(c *call) error {
		if find != nil {
			if err := find(c); err != nil {
				return err
			}
		}
		return &requestError{Code: codeNotSupported, Message: text}
	}
}

// newRoute returns a route whose handler writes the response, or returns an error.
func (s *Surface) newRoute(pattern, scope string, answer func(*call) error) server.Route {
	return server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		c := &call{Surface: s, w: w, r: r, caller: caller}
		if err := c.checkWorkspace(); err != nil {
			return err
		}
		return answer(c)
	})
}
