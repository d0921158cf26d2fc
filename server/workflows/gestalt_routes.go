package workflows

import (
	"context"
	"net/http"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workflow"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
)

// OpenAPI describes the protocol.
func (g *gestalt) OpenAPI() []byte {
	return server.DescribeErrors[surfacekit.GestaltError]("Workflows for Gestalt", g.Routes())
}

// DeferDescription does nothing: tests check the description against the routes.
func (*gestalt) DeferDescription() {}

// Routes returns the routes of the protocol.
func (g *gestalt) Routes() []server.Route {
	const read, write = settings.ScopeRunsRead, settings.ScopeRunsWrite
	schedules, triggers := gestaltStarts{g, Schedules}, gestaltStarts{g, EventTriggers}
	createSchedule := server.Answer("POST "+gestaltPath+"/schedules", write, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		return createGestalt(schedules, w, r, caller, new(flow.GestaltSchedule))
	})
	createTrigger := server.Answer("POST "+gestaltPath+"/event-triggers", write, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		return createGestalt(triggers, w, r, caller, new(flow.GestaltTrigger))
	})
	publish := server.Answer("POST "+gestaltPath+"/events", write, g.publish).WithBody(workflow.Event{}).WithQuery()
	publish.Begins = true
	routes := []server.Route{
		createSchedule.WithBody(flow.GestaltSchedule{}).WithQuery(), createTrigger.WithBody(flow.GestaltTrigger{}).WithQuery(), publish,
		server.Handle("PUT "+gestaltPath+"/schedules/{id}", write, func(ctx context.Context, caller service.Caller, r *http.Request, in flow.GestaltSchedule) (*gestaltStart, error) {
			return schedules.replace(ctx, caller, r.PathValue("id"), &in)
		}),
		server.Handle("PUT "+gestaltPath+"/event-triggers/{id}", write, func(ctx context.Context, caller service.Caller, r *http.Request, in flow.GestaltTrigger) (*gestaltStart, error) {
			return triggers.replace(ctx, caller, r.PathValue("id"), &in)
		}),
		server.Typed[surfacekit.None, []*gestaltRun](server.Answer("GET "+gestaltPath+"/runs", read, g.listRuns)).WithQuery("plugin", "status", "after"),
		server.Handle("GET "+gestaltPath+"/runs/{id}", read, g.getRun),
		server.Handle("POST "+gestaltPath+"/runs/{id}/cancel", write, g.cancelRun),
	}
	for _, s := range []gestaltStarts{schedules, triggers} {
		path := gestaltPath + "/" + string(s.kind)
		routes = append(routes,
			server.Handle("GET "+path, read, s.list),
			server.Handle("GET "+path+"/{id}", read, s.get),
			server.Handle("DELETE "+path+"/{id}", write, s.remove),
			server.Handle("POST "+path+"/{id}/pause", write, s.pause),
			server.Handle("POST "+path+"/{id}/resume", write, s.pause),
		)
	}
	return routes
}

// publish takes one event.
func (g *gestalt) publish(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
	var ev workflow.Event
	if err := server.ReadJSON(r, &ev, true); err != nil {
		return err
	}
	taken, created, err := g.engine.Publish(r.Context(), caller, []workflow.Event{ev})
	if err != nil {
		return explain(err)
	}
	return server.WriteJSON(w, http.StatusAccepted, Published{"published", taken[0], created})
}
