package sessions

import (
	_ "embed"
	"net/http"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

const (
	authPath  = "/api/v1/auth"
	agentPath = "/api/v1/agent"
)

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	begin := s.newRoute("POST "+agentPath+"/sessions", settings.ScopeSessionsWrite, "create_session", (*call).createSession).WithAudit(server.AuditCreateSession)
	begin.Also = begin.Pattern + "/{$}"
	list := s.newRoute("GET "+agentPath+"/sessions", settings.ScopeSessionsRead, "list_sessions", (*call).listSessions)
	list.Also = list.Pattern + "/{$}"
	return []server.Route{
		{Pattern: "GET " + authPath + "/info", Public: true, Handler: http.HandlerFunc(serveAuthInfo)},
		s.newRoute("GET "+agentPath+"/providers", settings.ScopeModelsRead, "list_providers", (*call).listProviders),
		s.newRoute("POST "+agentPath+"/harnesses/resolve", settings.ScopeModelsRead, "resolve_harness", (*call).resolveHarness),
		begin, list,
		s.newRoute("GET "+agentPath+"/sessions/{session}", settings.ScopeSessionsRead, "get_session", (*call).readSession),
		s.newRoute("PATCH "+agentPath+"/sessions/{session}", settings.ScopeSessionsWrite, "update_session", (*call).updateSession).WithAudit(server.AuditUpdateSession),
		s.newRoute("POST "+agentPath+"/sessions/{session}/turns", settings.ScopeRunsWrite, "create_turn", (*call).createTurn).WithNewTurn(),
		s.newRoute("GET "+agentPath+"/sessions/{session}/turns", settings.ScopeRunsRead, "list_turns", (*call).listTurns),
		s.newRoute("GET "+agentPath+"/turns/{turn}", settings.ScopeRunsRead, "get_turn", (*call).readTurn),
		s.newRoute("POST "+agentPath+"/turns/{turn}/cancel", settings.ScopeRunsWrite, "cancel_turn", (*call).cancelTurn).WithAudit(server.AuditCancelTurn),
		s.newRoute("GET "+agentPath+"/turns/{turn}/events", settings.ScopeRunsRead, "list_turn_events", (*call).listEvents),
		s.newRoute("GET "+agentPath+"/turns/{turn}/events/stream", settings.ScopeRunsRead, "stream_turn_events", (*call).streamEvents).WithStream(),
		s.newRoute("GET "+agentPath+"/turns/{turn}/interactions", settings.ScopeRunsRead, "list_interactions", (*call).listInteractions),
		s.newRoute("POST "+agentPath+"/turns/{turn}/interactions/{interaction}/resolve", settings.ScopeRunsWrite, "resolve_interaction", (*call).resolveInteraction).WithAudit(server.AuditResolveInteraction),
	}
}

// newRoute returns a route whose handler returns the response, or nil after writing it. The
// operation is its name in metrics.
func (s *Surface) newRoute(pattern, scope, operation string, answer func(*call) (any, error)) server.Route {
	return server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		ctx, observed := s.operations.Start(r.Context(), operation)
		c := &call{Surface: s, w: w, r: r.WithContext(ctx), caller: caller, status: http.StatusOK}
		v, err := answer(c)
		if v != nil && err == nil {
			err = server.WriteJSON(w, c.status, v)
		}
		observed.End(failureType(err))
		return err
	})
}
