package native

import (
	_ "embed"
	"net/http"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	return []server.Route{
		s.newRoute("GET "+Prefix+"/sessions", settings.ScopeSessionsRead, (*call).listSessions),
		s.newRoute("POST "+Prefix+"/sessions", settings.ScopeSessionsWrite, (*call).createSession).WithAudit(server.AuditCreateSession),
		s.newRoute("POST "+Prefix+"/sessions/import", settings.ScopeSessionsWrite, (*call).importSession).WithAudit(server.AuditCreateSession),
		s.newRoute("GET "+Prefix+"/sessions/{session}", settings.ScopeSessionsRead, (*call).readSession),
		s.newRoute("GET "+Prefix+"/sessions/{session}/export", settings.ScopeSessionsRead, (*call).exportSession),
		s.newRoute("GET "+Prefix+"/turns", settings.ScopeRunsRead, (*call).listTurns),
		s.newRoute("POST "+Prefix+"/turns", settings.ScopeRunsWrite, (*call).createTurn).WithNewTurn(),
		s.newRoute("GET "+Prefix+"/turns/{turn}", settings.ScopeRunsRead, (*call).readTurn),
		s.newRoute("POST "+Prefix+"/turns/{turn}/cancel", settings.ScopeRunsWrite, (*call).cancelTurn).WithAudit(server.AuditCancelTurn),
		s.newRoute("GET "+Prefix+"/interactions", settings.ScopeRunsRead, (*call).listPendingInteractions),
		s.newRoute("GET "+Prefix+"/turns/{turn}/interactions", settings.ScopeRunsRead, (*call).listInteractions),
		s.newRoute("POST "+Prefix+"/turns/{turn}/interactions/{interaction}", settings.ScopeRunsWrite, (*call).resolveInteraction).WithAudit(server.AuditResolveInteraction),
		s.newRoute("GET "+Prefix+"/turns/{turn}/events", settings.ScopeRunsRead, (*call).serveEvents).WithStream(),
		s.newRoute("GET "+Prefix+"/turns/{turn}/feedback", settings.ScopeRunsRead, (*call).listTurnFeedback),
		s.newRoute("POST "+Prefix+"/turns/{turn}/feedback", settings.ScopeRunsWrite, (*call).saveFeedback),
		s.newRoute("GET "+Prefix+"/turns/{turn}/model-requests/{message}", settings.ScopeRunsRead, (*call).listModelRequests),
		s.newRoute("GET "+Prefix+"/turns/{turn}/eval-case", settings.ScopeRunsRead, (*call).readEvalCase),
		s.newRoute("GET "+Prefix+"/feedback", settings.ScopeRunsRead, (*call).listFeedback),
		s.newRoute("GET "+Prefix+"/usage", settings.ScopeMetricsRead, (*call).readUsage),
		s.newRoute("GET "+Prefix+"/queue", settings.ScopeMetricsRead, (*call).readQueue),
		{Pattern: "GET " + Prefix + "/caller", Public: true, Handler: http.HandlerFunc(serveCaller)},
		s.newRoute("GET "+Prefix+"/fleet", settings.ScopeModelsRead, (*call).listFleet),
	}
}

// newRoute returns a route whose handler writes the response or returns an error.
func (s *Surface) newRoute(pattern, scope string, answer func(*call) error) server.Route {
	return server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		return answer(&call{Surface: s, Local: Local{Service: s.settings.Service, Caller: caller}, w: w, r: r})
	})
}
