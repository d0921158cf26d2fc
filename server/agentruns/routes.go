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
	return []server.Route{
		s.newRoute("GET "+workspacePath+"/models", settings.ScopeModelsRead, "listModels", (*call).listModels),
		s.newRoute("POST "+workspacePath+"/agent-runs", settings.ScopeRunsWrite, "createRun", (*call).createRun).WithNewTurn(),
		s.newRoute("GET "+workspacePath+"/agent-runs/{id}", settings.ScopeRunsRead, "readRun", (*call).readRun),
		s.newRoute("GET "+workspacePath+"/agent-runs/{id}/stream", settings.ScopeRunsRead, "followRun", (*call).streamRun).WithStream(),
		s.newRoute("POST "+workspacePath+"/agent-runs/{id}/tool-results", settings.ScopeRunsWrite, "answerToolCall", (*call).toolResult).WithAudit(server.AuditResolveInteraction),
		s.newRoute("POST "+workspacePath+"/agent-runs/{id}/interactions/{interaction}", settings.ScopeRunsWrite, "answerInteraction", (*call).resolveInteraction).WithAudit(server.AuditResolveInteraction),
		s.newRoute("POST "+workspacePath+"/agent-runs/{id}/cancel", settings.ScopeRunsWrite, "cancelRun", (*call).cancelRun).WithAudit(server.AuditCancelTurn),
		s.newRoute("POST "+workspacePath+"/agent-sessions", settings.ScopeSessionsWrite, "createSession", (*call).createSession).WithAudit(server.AuditCreateSession),
		s.newRoute("GET "+workspacePath+"/agent-sessions/{id}", settings.ScopeSessionsRead, "readSession", (*call).readSession),
		s.newRoute("POST "+workspacePath+"/agent-sessions/{id}/messages", settings.ScopeSessionsWrite, "sendMessage", (*call).sendMessage).WithNewTurn(),
		s.newRoute("DELETE "+workspacePath+"/agent-sessions/{id}", settings.ScopeSessionsWrite, "endSession", (*call).endSession).WithAudit(server.AuditUpdateSession),
		s.newRoute("GET "+workspacePath+"/agent-sessions", settings.ScopeSessionsRead, "listSessions", rejectUnsupported(nil, "lists of sessions are not supported: keep the IDs of sessions")),
		s.newRoute("GET "+workspacePath+"/agent-sessions/{id}/events", settings.ScopeSessionsRead, "readSessionEvents", rejectUnsupported(func(c *call) error {
			_, err := c.getSession(c.r.Context())
			return err
		}, "events of sessions are not supported: read the messages of the session")),
		s.newRoute("POST "+workspacePath+"/agent-runs/{id}/feedback", settings.ScopeRunsWrite, "sendFeedback", rejectUnsupported(func(c *call) error {
			_, err := c.getRun(c.r.Context())
			return err
		}, "feedback is not supported")),
		s.newRoute("GET /api/oauth/userinfo", scopeIdentity, "userInfo", (*call).userInfo),
		// The response takes as long as the run.
		s.newRoute("POST "+a2aPath+"/agents/{agent}", settings.ScopeA2AInvoke, "callAgent", (*call).a2aSend).WithNewTurn().WithStream(),
		s.newRoute("GET "+a2aPath+"/agents/{agent}/.well-known/agent-card.json", settings.ScopeA2ADiscovery, "agentCard", (*call).a2aCard),
		s.newRoute("GET "+a2aPath+"/discovery", settings.ScopeA2ADiscovery, "discoverAgents", (*call).a2aDiscovery),
	}
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

// newRoute returns a route with an operationId, whose handler writes the response, or returns an error.
func (s *Surface) newRoute(pattern, scope, id string, answer func(*call) error) server.Route {
	route := server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		c := &call{Surface: s, w: w, r: r, caller: caller}
		if err := c.checkWorkspace(); err != nil {
			return err
		}
		return answer(c)
	})
	route.ID = id
	return route
}
