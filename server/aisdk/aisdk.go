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

// turnRecord is stored with a turn for the surface.
type turnRecord struct {
	// Functions are the names of the tools that the page runs.
	Functions []string `json:"functions,omitempty"`
}

// call is a request and its caller.
type call struct{ *surfacekit.Request }

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
