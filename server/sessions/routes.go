package sessions

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

const (
	authPath  = "/api/v1/auth"
	agentPath = "/api/v1/agent"
)

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	const next, aboutNext = "X-Next-After", "Value of after for the next page. Absent on the last page."
	info := server.Route{Pattern: "GET " + authPath + "/info", Public: true, Handler: http.HandlerFunc(serveAuthInfo)}
	routes := []server.Route{
		server.Typed[surfacekit.None, authInfo](info).WithDoc(openapi.Doc{ID: "authInfo", Summary: "Read how clients log in", Result: "The login method: an access token."}),
		server.Typed[surfacekit.None, providerList](s.newRoute("GET "+agentPath+"/providers", settings.ScopeModelsRead, "list_providers", (*call).listProviders)).WithDoc(openapi.Doc{
			ID: "listProviders", Summary: "List the providers", Result: "The providers that the credential may use.",
		}),
		server.Typed[harnessRequest, surfacekit.None](s.newRoute("POST "+agentPath+"/harnesses/resolve", settings.ScopeModelsRead, "resolve_harness", (*call).resolveHarness)).WithDoc(openapi.Doc{
			ID: "resolveHarness", Summary: "Find the program that a client runs for a provider", Failures: []int{400, 412, 503},
			Description: "Clients run no program for a provider, so the response is always 400.",
		}),
		server.Typed[createSessionView, sessionView](s.newRoute("POST "+agentPath+"/sessions", settings.ScopeSessionsWrite, "create_session", (*call).createSession)).WithDoc(openapi.Doc{
			ID: "createSession", Summary: "Create a session", Result: "The created session, or the session created earlier with the same key.", Created: true, Failures: []int{400, 409, 412, 503},
		}).WithAudit(server.AuditCreateSession),
		server.Typed[sessionQuery, []sessionView](s.newRoute("GET "+agentPath+"/sessions", settings.ScopeSessionsRead, "list_sessions", (*call).listSessions)).WithDoc(openapi.Doc{
			ID: "listSessions", Summary: "List sessions, most recently active first", Result: "The sessions.", Failures: []int{400, 503}, Header: next, HeaderAbout: aboutNext,
		}),
		server.Typed[sessionPath, sessionView](s.newRoute("GET "+agentPath+"/sessions/{session}", settings.ScopeSessionsRead, "get_session", (*call).readSession)).WithDoc(openapi.Doc{
			ID: "readSession", Summary: "Read a session", Result: "The session.", Failures: []int{404},
		}),
		server.Typed[sessionChanges, sessionView](s.newRoute("PATCH "+agentPath+"/sessions/{session}", settings.ScopeSessionsWrite, "update_session", (*call).updateSession)).WithDoc(openapi.Doc{
			ID: "updateSession", Summary: "Update a session", Result: "The updated session.", Failures: []int{400, 404},
		}).WithAudit(server.AuditUpdateSession),
		server.Typed[createTurnView, turnView](s.newRoute("POST "+agentPath+"/sessions/{session}/turns", settings.ScopeRunsWrite, "create_turn", (*call).createTurn)).WithDoc(openapi.Doc{
			ID: "createTurn", Summary: "Create a turn", Result: "The created turn, or the turn created earlier with the same key. It runs in the background.", Created: true, Failures: []int{400, 404, 409, 412, 503},
		}).WithNewTurn(),
		server.Typed[turnQuery, []turnView](s.newRoute("GET "+agentPath+"/sessions/{session}/turns", settings.ScopeRunsRead, "list_turns", (*call).listTurns)).WithDoc(openapi.Doc{
			ID: "listTurns", Summary: "List the turns of a session, newest first", Result: "The turns.", Failures: []int{400, 404}, Header: next, HeaderAbout: aboutNext,
		}),
		server.Typed[turnPath, turnView](s.newRoute("GET "+agentPath+"/turns/{turn}", settings.ScopeRunsRead, "get_turn", (*call).readTurn)).WithDoc(openapi.Doc{
			ID: "readTurn", Summary: "Read a turn", Result: "The turn.", Failures: []int{404},
		}),
		server.Typed[cancellation, turnView](s.newRoute("POST "+agentPath+"/turns/{turn}/cancel", settings.ScopeRunsWrite, "cancel_turn", (*call).cancelTurn)).WithDoc(openapi.Doc{
			ID: "cancelTurn", Summary: "Cancel a turn, wherever it runs", Result: "The ended turn.", Failures: []int{400, 404},
		}).WithAudit(server.AuditCancelTurn),
		server.Typed[eventQuery, []eventView](s.newRoute("GET "+agentPath+"/turns/{turn}/events", settings.ScopeRunsRead, "list_turn_events", (*call).listEvents)).WithDoc(openapi.Doc{
			ID: "listEvents", Summary: "Read the events of a turn", Result: "The stored events after the given one.", Failures: []int{400, 404},
		}),
		s.newRoute("GET "+agentPath+"/turns/{turn}/events/stream", settings.ScopeRunsRead, "stream_turn_events", (*call).streamEvents).WithBody(streamQuery{}).WithDoc(openapi.Doc{
			ID: "streamEvents", Summary: "Follow the events of a turn", Result: "The events.", Failures: []int{400, 404}, Event: reflect.TypeFor[eventView](),
			Description: "Each event is one frame with its number as id. The response begins with a comment and has another every 15 seconds. It ends with the turn. " +
				"To resume a stream that ended early, send the number of the last event.",
		}).WithStream(),
		server.Typed[turnPath, []interactionView](s.newRoute("GET "+agentPath+"/turns/{turn}/interactions", settings.ScopeRunsRead, "list_interactions", (*call).listInteractions)).WithDoc(openapi.Doc{
			ID: "listInteractions", Summary: "List the interactions of a turn, oldest first", Result: "All interactions of the turn.", Failures: []int{404},
		}),
		server.Typed[resolutionRequest, interactionView](s.newRoute("POST "+agentPath+"/turns/{turn}/interactions/{interaction}/resolve", settings.ScopeRunsWrite, "resolve_interaction", (*call).resolveInteraction)).WithDoc(openapi.Doc{
			ID: "resolveInteraction", Summary: "Answer an interaction of a turn", Result: "The answered interaction.", Failures: []int{400, 404, 409},
		}).WithAudit(server.AuditResolveInteraction),
	}
	for i := range routes {
		if strings.HasSuffix(routes[i].Pattern, agentPath+"/sessions") {
			routes[i].Also = routes[i].Pattern + "/{$}"
		}
	}
	return routes
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
