// Package aisdk serves agents to AI SDK chats, such as React's useChat. A chat is a session, and an
// answer of the assistant is a turn. The surface keeps no state: it reads the log of the turn.
package aisdk

import (
	"io"
	"net/http"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// Surface is the protocol. It is safe for concurrent use.
type Surface struct{ *surfacekit.Base }

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
	_ server.ErrorWriter       = (*Surface)(nil)
	_ server.FailureWriter     = (*Surface)(nil)
)

// New returns the surface. It fails without a service that has a runtime.
func New(s server.SurfaceSettings) (*Surface, error) {
	base, err := surfacekit.NewBase(s)
	return &Surface{base}, err
}

// Component returns the protocol as a component of a program. Its pages' tools need the turn tools
// of package shipped or server/agentruns.
func Component() component.Surface {
	return component.NewSurface(settings.SurfaceAISDK, "/aisdk/", (*Surface)(nil), (*settings.Server).ServesAISDK, New)
}

// own is the surface's member in the metadata of turns.
const own surfacekit.Own = "aisdk"

// call is a request and its caller.
type call struct{ *surfacekit.Request }

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

func (c *call) newChats() *surfacekit.Threads { return c.NewThreads(string(own), "chat", "id") }

// writeText writes an error as text, which clients show to their users.
func writeText(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}

// WriteError answers with an error of the router.
func (*Surface) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	writeText(w, e.Status, e.Message)
}

// WriteFailure answers with an error of a handler.
func (s *Surface) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	f := s.Describe(r, err)
	surfacekit.WriteHead(w, r, f)
	writeText(w, f.Status, f.Message)
}
