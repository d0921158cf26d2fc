package native

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	return []server.Route{
		newRoute(s, "GET "+Prefix+"/sessions", settings.ScopeSessionsRead, (*Local).ListSessions, openapi.Doc{
			ID: "listSessions", Summary: "List sessions, most recently active first", Failures: []int{400},
			Result: "A page of sessions. The page may be short if the credential may not use all agents.",
		}),
		newRoute(s, "POST "+Prefix+"/sessions", settings.ScopeSessionsWrite, (*Local).CreateSession, openapi.Doc{
			ID: "createSession", Summary: "Create a session", Result: "The created session, or the session created earlier with the same key.", Created: true, Failures: []int{400, 409},
		}).WithAudit(server.AuditCreateSession),
		newRoute(s, "POST "+Prefix+"/sessions/import", settings.ScopeSessionsWrite, (*Local).importSession, openapi.Doc{
			ID: "importSession", Summary: "Create a session from an export", Result: "The created session, or the session created earlier with the same key.", Created: true, Failures: []int{400, 409},
		}).WithAudit(server.AuditCreateSession),
		newRoute(s, "GET "+Prefix+"/sessions/{session}", settings.ScopeSessionsRead, ofSession((*Local).GetSession), openapi.Doc{
			ID: "readSession", Summary: "Read a session", Result: "The session.", Failures: []int{404},
		}),
		newRoute(s, "GET "+Prefix+"/sessions/{session}/export", settings.ScopeSessionsRead, ofSession((*Local).exportSession), openapi.Doc{
			ID: "exportSession", Summary: "Export a session with its whole conversation", Result: "The session, its snapshots and its artifacts.", Failures: []int{404},
		}),
		newRoute(s, "GET "+Prefix+"/turns", settings.ScopeRunsRead, (*Local).ListTurns, openapi.Doc{
			ID: "listTurns", Summary: "List turns, newest first", Failures: []int{400},
			Result: "A page of turns. The page may be short if the credential may not use all agents. With q, min_cost or min_duration_ms, " +
				"the server examines at most 2,000 turns per page. Continue with next until it is absent.",
		}),
		newRoute(s, "POST "+Prefix+"/turns", settings.ScopeRunsWrite, (*Local).CreateTurn, openapi.Doc{
			ID: "createTurn", Summary: "Create a turn for the server to run", Result: "The created turn, or the turn created earlier with the same key.", Created: true, Failures: []int{400, 404, 409},
		}).WithNewTurn(),
		newRoute(s, "GET "+Prefix+"/turns/{turn}", settings.ScopeRunsRead, ofTurn((*Local).GetTurn), openapi.Doc{
			ID: "readTurn", Summary: "Read a turn", Result: "The turn.", Failures: []int{404},
		}),
		newRoute(s, "POST "+Prefix+"/turns/{turn}/cancel", settings.ScopeRunsWrite, func(l *Local, ctx context.Context, in cancellation) (*Turn, error) {
			return l.CancelTurn(ctx, in.Turn, in.Reason)
		}, openapi.Doc{
			ID: "cancelTurn", Summary: "Cancel a turn, wherever it runs", Result: "The ended turn. A turn that had already ended is unchanged.", Failures: []int{400, 404},
		}).WithAudit(server.AuditCancelTurn),
		newRoute(s, "GET "+Prefix+"/interactions", settings.ScopeRunsRead, func(l *Local, ctx context.Context, q pendingQuery) (interactionList, error) {
			list, err := l.ListPendingInteractions(ctx, cmp.Or(q.Limit, defaultPending))
			return interactionList{list}, err
		}, openapi.Doc{
			ID: "listPendingInteractions", Summary: "List the pending interactions of the caller's turns, oldest first", Result: "The pending interactions, each with the agent of its turn.", Failures: []int{400},
		}),
		newRoute(s, "GET "+Prefix+"/turns/{turn}/interactions", settings.ScopeRunsRead, func(l *Local, ctx context.Context, in turnID) (interactionList, error) {
			list, err := l.ListInteractions(ctx, in.Turn)
			return interactionList{list}, err
		}, openapi.Doc{
			ID: "listInteractions", Summary: "List the interactions of a turn, oldest first", Result: "All interactions of the turn.", Failures: []int{404},
		}),
		newRoute(s, "POST "+Prefix+"/turns/{turn}/interactions/{interaction}", settings.ScopeRunsWrite, func(l *Local, ctx context.Context, a answer) (*Interaction, error) {
			return l.AnswerInteraction(ctx, a.Turn, interaction.Answer{Target: a.Interaction, ID: a.ID, Action: a.Action, Result: a.Result, Arguments: a.Arguments, Reason: a.Reason})
		}, openapi.Doc{
			ID: "resolveInteraction", Summary: "Answer an interaction of a turn", Result: "The answered interaction. Repeating the same answer changes nothing.", Failures: []int{400, 404, 409},
		}).WithAudit(server.AuditResolveInteraction),
		server.Typed[eventQuery, eventList](server.Answer("GET "+Prefix+"/turns/{turn}/events", settings.ScopeRunsRead, s.serveEvents)).WithStream().WithDoc(openapi.Doc{
			ID: "events", Summary: "Read or follow the events of a turn",
			Description: "With text/event-stream in Accept, the response also streams future events, up to the terminal one, run_finish. Each event has its " +
				"number as id. The stream has a comment every 15 seconds. Send Last-Event-ID to resume a stream that did not end cleanly.",
			Result: "The events.", Event: eventType, Failures: []int{400, 404},
		}),
		newRoute(s, "GET "+Prefix+"/turns/{turn}/feedback", settings.ScopeRunsRead, (*Local).listTurnFeedback, openapi.Doc{
			ID: "listTurnFeedback", Summary: "List the feedback about a turn", Result: "All feedback about the turn.", Failures: []int{400, 404},
		}),
		newRoute(s, "POST "+Prefix+"/turns/{turn}/feedback", settings.ScopeRunsWrite, func(l *Local, ctx context.Context, in ratedTurn) (*Feedback, error) {
			return l.SaveFeedback(ctx, in.Turn, in.SaveFeedback)
		}, openapi.Doc{
			ID: "saveFeedback", Summary: "Rate an ended turn", Result: "The stored feedback.", Failures: []int{400, 404, 409},
			Description: "Replaces earlier feedback of the same name and exports it as gen_ai.evaluation.result. score, label or comment is required.",
		}),
		newRoute(s, "GET "+Prefix+"/turns/{turn}/model-requests/{message}", settings.ScopeRunsRead, func(l *Local, ctx context.Context, in messageID) (*ModelRequestList, error) {
			return l.ListModelRequests(ctx, in.Turn, in.Message)
		}, openapi.Doc{
			ID: "listModelRequests", Summary: "List the requests to models that led to a message of a turn", Failures: []int{400, 404},
			Description: "Requests are stored if turns.keep_requests is set. Keys without the scope config:read see none.",
			Result:      "The requests in the order in which they were sent. A continued answer took several.",
		}),
		newRoute(s, "GET "+Prefix+"/turns/{turn}/eval-case", settings.ScopeRunsRead, func(l *Local, ctx context.Context, q caseQuery) (*EvalCase, error) {
			return l.ReadEvalCase(ctx, q.Turn, q.ID)
		}, openapi.Doc{
			ID: "readEvalCase", Summary: "Create an eval case from an ended turn", Result: "The case.", Failures: []int{400, 404},
			Description: "Earlier turns of its session are the first turns of the case. A turn that cannot become a case makes the request invalid.",
		}),
		newRoute(s, "GET "+Prefix+"/feedback", settings.ScopeRunsRead, (*Local).ListFeedback, openapi.Doc{
			ID: "listFeedback", Summary: "List feedback, most recently created first", Result: "A page of feedback.", Failures: []int{400},
		}),
		newRoute(s, "GET "+Prefix+"/usage", settings.ScopeMetricsRead, (*Local).readUsage, openapi.Doc{
			ID: "readUsage", Summary: "Read the counts, tokens, cost and durations of ended turns", Result: "The usage.", Failures: []int{400},
			Description: "Turns are counted in the hour in which they ended, by tenant, agent and model. A turn counts for its own agent. Tokens and " +
				"cost count for the agents and models that used them. Callers see their own tenant. Groups are sorted by hour, then by tokens in descending order.",
		}),
		newRoute(s, "GET "+Prefix+"/queue", settings.ScopeMetricsRead, (*Local).readQueue, openapi.Doc{
			ID: "readQueue", Summary: "Count the live turns of all tenants and list the processes that run them", Failures: []int{400},
			Result: "The queue. At most 1,000 running turns are attributed to processes.",
		}),
		server.Typed[surfacekit.None, caller](server.Route{Pattern: "GET " + Prefix + "/caller", Public: true, Handler: http.HandlerFunc(serveCaller)}).WithDoc(openapi.Doc{
			ID: "readCaller", Summary: "Read the identity of the caller", Result: "The caller, which is not authenticated without a valid credential.",
		}),
		newRoute(s, "GET "+Prefix+"/fleet", settings.ScopeModelsRead, (*Local).readFleet, openapi.Doc{
			ID: "listFleet", Summary: "List the agents that the caller may use", Failures: []int{400},
			Result: "A page of agents. It includes models, tools and delegates if the credential has the scope config:read.",
		}),
	}
}

// OpenAPI describes the protocol.
func (s *Surface) OpenAPI() []byte {
	return server.DescribeSurface(&openapi.Surface{
		Title: "Runtime", Description: "The runtime's own protocol: sessions, turns, and their interactions and events, as stored.",
		Package: reflect.TypeFor[Surface]().PkgPath(), Failure: reflect.TypeFor[errorView](),
		Views: map[reflect.Type]reflect.Type{
			reflect.TypeFor[event.Record](): reflect.TypeFor[eventView](), reflect.TypeFor[service.SessionExport](): reflect.TypeFor[exportView](),
		},
	}, s.Routes())
}

// DeferDescription does nothing: tests check the description against the routes.
func (*Surface) DeferDescription() {}

// newRoute returns a route that passes the decoded request to a function and writes the result.
func newRoute[In, Out any](s *Surface, pattern, scope string, answer func(*Local, context.Context, In) (Out, error), doc openapi.Doc) server.Route {
	status := http.StatusOK
	if doc.Created {
		status = http.StatusCreated
	}
	return server.Typed[In, Out](server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		var in In
		if err := surfacekit.ReadRequest(r, &in); err != nil {
			return err
		}
		out, err := answer(&Local{s.settings.Service, caller}, r.Context(), in)
		if err != nil {
			return err
		}
		return server.WriteJSON(w, status, out)
	})).WithDoc(doc)
}

// defaultPending is the default limit of a list of pending interactions.
const defaultPending = 100

type pendingQuery struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" jsonschema:"Maximum number of interactions."`
}

// importRequest is an export and how to import it. Unknown fields of the export may come from a
// later version.
type importRequest struct {
	ImportSession

	Export service.SessionExport `json:"-" body:""`
}

func (l *Local) importSession(ctx context.Context, in importRequest) (*Session, error) {
	return l.ImportSession(ctx, in.ImportSession, &in.Export)
}

// exportSession returns an export that can be imported anywhere, but without the values of headers.
func (l *Local) exportSession(ctx context.Context, id string) (*service.SessionExport, error) {
	export, err := l.ExportSession(ctx, id)
	if err == nil {
		export.Session.Metadata = withoutHeaders(export.Session.Metadata)
	}
	return export, err
}

// ofSession passes the session in the path to a function.
func ofSession[Out any](read func(*Local, context.Context, string) (Out, error)) func(*Local, context.Context, sessionID) (Out, error) {
	return func(l *Local, ctx context.Context, in sessionID) (Out, error) { return read(l, ctx, in.Session) }
}

// ofTurn passes the turn in the path to a function.
func ofTurn[Out any](read func(*Local, context.Context, string) (Out, error)) func(*Local, context.Context, turnID) (Out, error) {
	return func(l *Local, ctx context.Context, in turnID) (Out, error) { return read(l, ctx, in.Turn) }
}
