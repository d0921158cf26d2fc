package agui

import (
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	return []server.Route{
		server.Typed[runInput, surfacekit.None](s.newRoute("POST /agui/{agent}", (*call).startRun)).WithNewTurn().WithStream(),
		server.Typed[surfacekit.None, surfacekit.Stopped](s.newRoute("POST /agui/{agent}/{thread}/stop", (*call).stopThread)).WithAudit(server.AuditCancelTurn),
	}
}

func (s *Surface) newRoute(pattern string, answer func(*call) (any, error)) server.Route {
	return s.NewRoute(pattern, settings.ScopeRunsWrite, func(r *surfacekit.Request) (any, error) { return answer(&call{r}) })
}

// OpenAPI describes the routes.
func (s *Surface) OpenAPI() []byte { return server.DescribeErrors[errorBody]("AG-UI", s.Routes()) }

// stopThread cancels the run of a thread.
func (c *call) stopThread() (any, error) {
	return c.newThreads().Stop(c.Context(), c.R.PathValue("thread"))
}
