package surfacekit

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// Base is the part shared by all surfaces that run turns.
type Base struct {
	Service   *service.Service
	KeepAlive time.Duration
	Logger    *zap.Logger
}

// NewBase fails without a service that has a runtime.
func NewBase(s server.SurfaceSettings) (*Base, error) {
	if err := CheckService(s.Service); err != nil {
		return nil, err
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Base{s.Service, cmp.Or(s.KeepAlive, server.DefaultKeepAlive), s.Logger}, nil
}

// DeferDescription does nothing: tests compare the description with the routes.
func (*Base) DeferDescription() {}

// None is a body without fields.
type None struct{}

// Request is a request and its caller.
type Request struct {
	*Base
	W      http.ResponseWriter
	R      *http.Request
	Caller service.Caller
}

// Context returns the context of the request.
func (r *Request) Context() context.Context { return r.R.Context() }

// NewRoute returns a route whose handler returns an answer, or nil after writing one.
func (b *Base) NewRoute(pattern, scope string, answer func(*Request) (any, error)) server.Route {
	return server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		v, err := answer(&Request{b, w, r, caller})
		if v == nil || err != nil {
			return err
		}
		return server.WriteJSON(w, http.StatusOK, v)
	})
}

// NewThreads returns the surface's conversations with the agent in the path. kind is the protocol's
// word for a conversation, and field its field with the conversation's id.
func (r *Request) NewThreads(surface, kind, field string) *Threads {
	return &Threads{Service: r.Service, Caller: r.Caller, Agent: r.R.PathValue("agent"), Kind: kind, Key: surface + "-" + kind, Label: surface + "_" + kind, Field: field}
}

// Describe returns an error in the client's form. Internal causes are only logged.
func (b *Base) Describe(r *http.Request, err error) *server.Failure {
	f := server.Report(r.Context(), b.Logger, err)
	if f.Class == server.ClassNoAgent {
		f.Status = http.StatusNotFound
	}
	return f
}

// WriteHead records a failure for the audit log and writes when the request may be retried.
func WriteHead(w http.ResponseWriter, r *http.Request, f *server.Failure) {
	server.NoteAudit(r.Context(), zap.String("error", f.Code))
	if f.Retry || f.Class == server.ClassBusy {
		w.Header().Set("Retry-After", "1")
	}
}
