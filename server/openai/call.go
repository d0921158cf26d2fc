package openai

import (
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// own is the member of the metadata of turns and sessions that belongs to the surface,
// and ownLabel the label of its sessions.
const (
	own      surfacekit.Own = "openai"
	ownLabel                = string(own)
)

// call is a request and its caller.
type call struct{ *surfacekit.Request }

// none is a body without fields.
type none = surfacekit.None

// newRoute returns a route of the protocol.
func newRoute(b *surfacekit.Base, pattern, scope string, answer func(*call) (any, error)) server.Route {
	return b.NewRoute(pattern, scope, func(r *surfacekit.Request) (any, error) { return answer(&call{r}) })
}

// begins marks a route that begins a turn and may stream its answer.
func begins(r server.Route) server.Route {
	r.Begins = true
	return audited(markStream(r), server.AuditCreateTurn)
}

// markStream marks a route that may answer with a stream.
func markStream(r server.Route) server.Route {
	r.Stream = true
	return r
}

// audited marks a route that is recorded as an operation.
func audited(r server.Route, operation string) server.Route {
	r.Audit = operation
	return r
}
