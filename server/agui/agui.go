// Package agui serves agents to clients of AG-UI, such as CopilotKit. A run is a turn, or the
// part of a turn between two answers of its client, and a thread is a session. The surface keeps
// no state: it reads the log of the turn.
package agui

import (
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

// Component returns the protocol as a component of a program. Its clients' tools need the turn
// tools of package shipped or server/agentruns.
func Component() component.Surface {
	return component.NewSurface(settings.SurfaceAGUI, "/agui/", (*Surface)(nil), (*settings.Server).ServesAGUI, New)
}

// own is the surface's member in the metadata of turns.
const own surfacekit.Own = "agui"

// call is a request and its caller.
type call struct{ *surfacekit.Request }

func (c *call) newThreads() *surfacekit.Threads {
	return c.NewThreads(string(own), "thread", "threadId")
}

// errorBody is the body of an error.
type errorBody struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// WriteError answers with an error of the router.
func (*Surface) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	_ = server.WriteJSON(w, e.Status, errorBody{e.Code, e.Message}) // the client may be gone
}

// WriteFailure answers with an error of a handler.
func (s *Surface) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	f := describeFailure(s.Base, r, err)
	surfacekit.WriteHead(w, r, f)
	_ = server.WriteJSON(w, f.Status, errorBody{f.Code, f.Message}) // the client may be gone
}

// describeFailure returns an error as clients see it.
func describeFailure(s *surfacekit.Base, r *http.Request, err error) *server.Failure {
	f := s.Describe(r, err)
	if f.Class == server.ClassBusy {
		f.Code = "thread_busy"
	}
	return f
}
