package aisdk

import (
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	stream := s.newRoute("GET /aisdk/{agent}/{chat}/stream", settings.ScopeRunsRead, (*call).resumeStream).WithStream()
	stream.Idle = true
	return []server.Route{
		server.Typed[chatRequest, surfacekit.None](s.newRoute("POST /aisdk/{agent}", settings.ScopeRunsWrite, (*call).answerMessage)).WithNewTurn().WithStream(),
		stream,
		server.Typed[surfacekit.None, surfacekit.Stopped](s.newRoute("POST /aisdk/{agent}/{chat}/stop", settings.ScopeRunsWrite, (*call).stopChat)).WithAudit(server.AuditCancelTurn),
		server.Typed[surfacekit.None, chatView](s.newRoute("GET /aisdk/{agent}/{chat}", settings.ScopeRunsRead, (*call).readChat)),
	}
}

func (s *Surface) newRoute(pattern, scope string, answer func(*call) (any, error)) server.Route {
	return s.NewRoute(pattern, scope, func(r *surfacekit.Request) (any, error) { return answer(&call{r}) })
}

// OpenAPI describes the routes.
func (s *Surface) OpenAPI() []byte { return server.DescribeErrors[string]("AI SDK", s.Routes()) }

// stopChat cancels the turn of a chat.
func (c *call) stopChat() (any, error) { return c.newChats().Stop(c.Context(), c.R.PathValue("chat")) }
