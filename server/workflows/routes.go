package workflows

import (
	"net/http"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/service/workflow"
)

// OpenAPI describes the protocol.
func (s *surface) OpenAPI() []byte {
	return server.DescribeSurface(&openapi.Surface{Title: "Workflows"}, s.Routes())
}

// DeferDescription does nothing: tests check the description against the routes.
func (*surface) DeferDescription() {}

// Routes returns the routes of the protocol.
func (s *surface) Routes() []server.Route {
	const read, write = settings.ScopeRunsRead, settings.ScopeRunsWrite
	var routes []server.Route
	for _, kind := range []Kind{Schedules, EventTriggers} {
		k := starts{s, kind}
		path := prefix + "/" + string(kind)
		routes = append(routes,
			server.Handle("GET "+path, read, k.list),
			server.Answer("POST "+path, write, k.create).WithBody(StartRequest{}).WithQuery(),
			server.Handle("GET "+path+"/{id}", read, k.get),
			server.Handle("PUT "+path+"/{id}", write, k.replace),
			server.Answer("DELETE "+path+"/{id}", write, k.remove).WithQuery(),
			server.Handle("POST "+path+"/{id}/pause", write, k.pause),
			server.Handle("POST "+path+"/{id}/resume", write, k.pause),
		)
	}
	publish := server.Answer("POST "+prefix+"/events", write, s.publish).WithBody(workflow.Event{}).WithQuery()
	publish.Begins = true
	receive := server.Route{Pattern: "POST " + prefix + "/webhooks/{id}", Public: true, Begins: true, Handler: http.HandlerFunc(s.receive)}
	ofTenant := receive
	ofTenant.Pattern = "POST " + prefix + "/webhooks/{tenant}/{id}"
	return append(routes, publish, receive, ofTenant,
		server.Handle("GET "+prefix+"/runs", read, s.listRuns).WithQuery("workflow", "status", "limit", "after"),
		server.Handle("GET "+prefix+"/runs/{id}", read, s.getRun),
		server.Handle("POST "+prefix+"/runs/{id}/cancel", write, s.cancelRun),
		server.Handle("GET "+prefix+"/runs/{id}/interactions", read, s.listInteractions),
		server.Handle("POST "+prefix+"/runs/{id}/interactions/{interaction}", write, s.answerInteraction),
	)
}
