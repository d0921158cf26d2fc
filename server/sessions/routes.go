package sessions

import (
	_ "embed"
	"net/http"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
)

const (
	authPath  = "/api/v1/auth"
	agentPath = "/api/v1/agent"
)

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	stream := s.newRoute("GET "+agentPath+"/turns/{turn}/events/stream", settings.ScopeRunsRead, (*call).streamEvents)
	stream.Stream = true
	create := s.newRoute("POST "+agentPath+"/sessions/{session}/turns", settings.ScopeRunsWrite, (*call).createTurn)
	create.Begins = true
	return []server.Route{
		{Pattern: "GET " + authPath + "/info", Public: true, Handler: http.HandlerFunc(serveAuthInfo)},
		s.newRoute("GET "+agentPath+"/providers", settings.ScopeModelsRead, (*call).listProviders),
		s.newRoute("POST "+agentPath+"/harnesses/resolve", settings.ScopeModelsRead, (*call).resolveHarness),
		s.newRoute("POST "+agentPath+"/sessions", settings.ScopeSessionsWrite, (*call).createSession),
		s.newRoute("GET "+agentPath+"/sessions", settings.ScopeSessionsRead, (*call).listSessions),
		s.newRoute("GET "+agentPath+"/sessions/{session}", settings.ScopeSessionsRead, (*call).readSession),
		s.newRoute("PATCH "+agentPath+"/sessions/{session}", settings.ScopeSessionsWrite, (*call).updateSession),
		create,
		s.newRoute("GET "+agentPath+"/sessions/{session}/turns", settings.ScopeRunsRead, (*call).listTurns),
		s.newRoute("GET "+agentPath+"/turns/{turn}", settings.ScopeRunsRead, (*call).readTurn),
		s.newRoute("POST "+agentPath+"/turns/{turn}/cancel", settings.ScopeRunsWrite, (*call).cancelTurn),
		s.newRoute("GET "+agentPath+"/turns/{turn}/events", settings.ScopeRunsRead, (*call).listEvents),
		stream,
		s.newRoute("GET "+agentPath+"/turns/{turn}/interactions", settings.ScopeRunsRead, (*call).listInteractions),
		s.newRoute("POST "+agentPath+"/turns/{turn}/interactions/{interaction}/resolve", settings.ScopeRunsWrite, (*call).resolveInteraction),
	}
}

// newRoute returns a route whose handler answers by itself, or returns why not.
func (s *Surface) newRoute(pattern, scope string, answer func(*call) error) server.Route {
	return server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		return answer(&call{Surface: s, w: w, r: r, caller: caller})
	})
}
