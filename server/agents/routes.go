package agents

import (
	"net/http"
	"reflect"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/service"
)

// OpenAPI describes the protocol.
func (s *Surface) OpenAPI() []byte {
	return server.DescribeSurface(&openapi.Surface{
		Title: "Agents", Failure: reflect.TypeFor[string](), Package: reflect.TypeFor[wire.Error]().PkgPath(), Open: true,
		Description: "Declared agents for clients of the agents API. A snapshot represents a turn and has the id of the turn.",
		Views:       map[reflect.Type]reflect.Type{reflect.TypeFor[wire.Part](): reflect.TypeFor[part]()},
	}, s.Routes())
}

// DeferDescription does nothing: tests check the description against the routes.
func (*Surface) DeferDescription() {}

// The types below describe requests. The contents of a part depend on its kind, which wire.Part
// checks.

type part struct {
	_ struct{} `jsonschema:"A part: text, media, toolRequest, toolResponse or reasoning."`
}

type agentPath struct {
	Name string `json:"-" path:"name" jsonschema:"The id of the agent."`
}

type runRequest struct {
	agentPath
	turnBody
	Init struct {
		SessionID  string         `json:"sessionId,omitempty"`
		SnapshotID string         `json:"snapshotId,omitempty"`
		State      map[string]any `json:"state,omitempty"`
	} `json:"init,omitzero" null:"true" jsonschema:"Conversation of the turn. Defaults to a new one."`
	Stream   bool   `json:"-" query:"stream" jsonschema:"Whether the response is a stream."`
	StreamID string `json:"-" header:"X-Genkit-Stream-Id" jsonschema:"Id of a stream to read again from its beginning. The request then starts no turn. A 204 response means that the stream does not exist."`
}

type snapshotRequest struct {
	agentPath
	Data wire.GetSnapshotRequest `json:"data" jsonschema:"Snapshot to read. At least one of the ids is required."`
}

type abortRequest struct {
	agentPath
	Data wire.AbortRequest `json:"data"`
}

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	const path = "POST /agents/{name}"
	return []server.Route{
		server.Typed[runRequest, wire.Reply[wire.Output]](s.newRoute(path, settings.ScopeRunsWrite, (*call).runTurn)).WithDoc(openapi.Doc{
			ID: "runAgent", Summary: "Run one turn of a conversation", Result: "The output of the turn, even if the turn failed.",
			Description: `With text/event-stream in Accept, or with stream=true, the response is a stream of lines "data: JSON", each followed by an empty line: ` +
				`{"message": chunk} any number of times, then {"result": output} or {"error": {"status", "message"}}.`,
			Header: streamIDHeader, HeaderAbout: "Id of the stream, which can be read again while its turn is kept.", Empty: "The stream named by the request does not exist.",
			Event: reflect.TypeFor[wire.Frame](), Failures: []int{400, 404, 409, 503},
		}).WithNewTurn().WithStream(),
		server.Typed[snapshotRequest, wire.Reply[wire.Snapshot]](s.newRoute(path+"/getSnapshot", settings.ScopeSessionsRead, (*call).getSnapshot)).WithDoc(openapi.Doc{
			ID: "getAgentSnapshot", Summary: "Read a snapshot or the latest snapshot of a session", Result: "The snapshot.", Failures: []int{400, 404, 503},
		}),
		server.Typed[snapshotRequest, wire.Reply[wire.Snapshot]](s.newRoute(path+"/waitForSnapshot", settings.ScopeSessionsRead, (*call).waitForSnapshot)).WithDoc(openapi.Doc{
			ID: "waitForAgentSnapshot", Summary: "Wait until a snapshot is no longer pending, then read it", Result: "The snapshot.", Failures: []int{400, 404, 503},
		}).WithStream(),
		server.Typed[abortRequest, wire.Reply[wire.AbortResponse]](s.newRoute(path+"/abort", settings.ScopeRunsWrite, (*call).abortTurn)).WithDoc(openapi.Doc{
			ID: "abortAgent", Summary: "Abort the turn of a pending or interrupted snapshot", Result: "The status of the snapshot after the attempt.", Failures: []int{400, 404, 503},
		}).WithAudit(server.AuditCancelTurn),
	}
}

// newRoute returns a route for the agents that the caller may use.
func (s *Surface) newRoute(pattern, scope string, answer func(*call) error) server.Route {
	return server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		name := r.PathValue("name")
		if !s.settings.Exposed.Has(name) {
			caller.Agents = service.NewAgentSet([]string{}) // to look like an agent the caller may not use
		}
		agent, err := s.settings.Agents.Find(caller, name)
		if err != nil {
			return err
		}
		return answer(&call{Surface: s, w: w, r: r, agent: agent})
	})
}
