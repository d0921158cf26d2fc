// Package native is the runtime's own protocol over HTTP: sessions, turns, what
// turns wait for, and their events, as they are kept. It has a Surface for the
// server, and a Client for programs in Go; Local does what a Client does in the
// process of the service.
package native

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
)

// Prefix is what the paths of the protocol begin with.
const Prefix = "/runtime/v1"

// Settings is what the surface is made of. The Service is required.
type Settings struct {
	Service *runtime.Service
	// KeepAlive is how often a stream with nothing to say sends a comment; 0 is
	// server.DefaultKeepAlive.
	KeepAlive time.Duration
	// Logger takes in what goes wrong inside; nil drops it.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Surface is the protocol. It is safe for concurrent use.
type Surface struct {
	Settings
}

var (
	_ server.Surface   = (*Surface)(nil)
	_ server.Describer = (*Surface)(nil)
)

// New returns the surface. The error says that the settings have no service.
func New(s Settings) (*Surface, error) {
	if s.Service == nil {
		return nil, errors.New("the settings have no service")
	}
	s.KeepAlive = cmp.Or(s.KeepAlive, server.DefaultKeepAlive)
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Surface{Settings: s}, nil
}

//go:embed openapi.yaml
var description []byte

// OpenAPI describes the protocol.
func (*Surface) OpenAPI() []byte { return description }

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	events := s.route("GET "+Prefix+"/turns/{turn}/events", spec.ScopeRunsRead, (*call).events)
	events.Stream = true
	create := s.route("POST "+Prefix+"/turns", spec.ScopeRunsWrite, (*call).createTurn)
	create.Begins = true
	return []server.Route{
		s.route("GET "+Prefix+"/sessions", spec.ScopeSessionsRead, (*call).listSessions),
		s.route("POST "+Prefix+"/sessions", spec.ScopeSessionsWrite, (*call).createSession),
		s.route("POST "+Prefix+"/sessions/import", spec.ScopeSessionsWrite, (*call).importSession),
		s.route("GET "+Prefix+"/sessions/{session}", spec.ScopeSessionsRead, (*call).readSession),
		s.route("GET "+Prefix+"/sessions/{session}/export", spec.ScopeSessionsRead, (*call).exportSession),
		s.route("GET "+Prefix+"/turns", spec.ScopeRunsRead, (*call).listTurns),
		create,
		s.route("GET "+Prefix+"/turns/{turn}", spec.ScopeRunsRead, (*call).readTurn),
		s.route("POST "+Prefix+"/turns/{turn}/cancel", spec.ScopeRunsWrite, (*call).cancelTurn),
		s.route("GET "+Prefix+"/turns/{turn}/interactions", spec.ScopeRunsRead, (*call).listInteractions),
		s.route("POST "+Prefix+"/turns/{turn}/interactions/{interaction}", spec.ScopeRunsWrite, (*call).resolveInteraction),
		events,
	}
}

// call is a request that is answered, and for whom.
type call struct {
	*Surface
	Local // whose Service counts
	w     http.ResponseWriter
	r     *http.Request
}

// route returns a route whose handler answers by itself, or returns why not.
func (s *Surface) route(pattern, scope string, answer func(*call) error) server.Route {
	return server.Route{Pattern: pattern, Scope: scope, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{Surface: s, w: w, r: r}
		err := c.enter()
		if err == nil {
			err = answer(c)
		}
		if err != nil {
			c.refuse(err)
		}
	})}
}

// enter finds out who asks.
func (c *call) enter() error {
	principal, ok := server.PrincipalFrom(c.r.Context())
	if !ok {
		return errors.New("nobody is known to ask") // not reached: no route is public
	}
	c.Local = Local{Service: c.Surface.Service, Caller: principal.Caller}
	return nil
}

// refuse answers with an error. What happened inside is only logged.
func (c *call) refuse(err error) {
	refusal := refusalOf(err)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refusal = &server.Error{Status: http.StatusRequestEntityTooLarge, Code: codeTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", large.Limit)}
	}
	if refusal == nil {
		refusal = c.failed(err)
	}
	refusal.RequestID = server.RequestID(c.r.Context())
	server.WriteError(c.w, refusal)
}

// failed returns the answer to a request that failed although nothing is wrong with
// it, and logs why.
func (c *call) failed(err error) *server.Error {
	ctx := c.r.Context()
	if ctx.Err() == nil {
		c.Logger.Error("a request cannot be answered", zap.String("request_id", server.RequestID(ctx)), zap.Error(err))
	}
	if later := server.Unavailable(ctx, err); later != nil {
		c.w.Header().Set("Retry-After", "1")
		return &server.Error{Status: http.StatusServiceUnavailable, Code: codeUnavailable, Message: later.Error()}
	}
	return &server.Error{Status: http.StatusInternalServerError, Code: codeInternal, Message: "the server failed; its log says why"}
}
