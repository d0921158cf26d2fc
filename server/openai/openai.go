// Package openai serves agents to clients of the OpenAI API: models, chat completions,
// responses and conversations. A response or a chat completion is a turn, or the part of
// a turn between two answers of its client; a conversation is a session. The surface
// keeps nothing else: what it shows is read from the log of the turn.
package openai

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
	"go.uber.org/zap"
)

// Settings configures the surface. The Service is required, and must have a runtime.
type Settings struct {
	Service *service.Service
	// KeepAlive is how often an idle stream sends a comment; the default is
	// server.DefaultKeepAlive.
	KeepAlive time.Duration
	// Logger logs internal errors; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Surface is the protocol. It is safe for concurrent use.
type Surface struct{ settings Settings }

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
	_ server.ErrorWriter       = (*Surface)(nil)
	_ server.FailureWriter     = (*Surface)(nil)
)

// New returns the surface. It fails without a service that has a runtime.
func New(s Settings) (*Surface, error) {
	if err := surfacekit.CheckService(s.Service); err != nil {
		return nil, err
	}
	s.KeepAlive = cmp.Or(s.KeepAlive, server.DefaultKeepAlive)
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Surface{settings: s}, nil
}

// own is the member of the metadata of turns and sessions that belongs to the surface,
// and ownLabel the label of its sessions.
const (
	own      surfacekit.Own = "openai"
	ownLabel                = string(own)
)

// call is a request and its caller.
type call struct {
	*Surface
	w      http.ResponseWriter
	r      *http.Request
	caller service.Caller
}

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	return []server.Route{
		server.Typed[none, modelList](s.newRoute("GET /v1/models", settings.ScopeModelsRead, (*call).listModels)),
		server.Typed[none, modelView](s.newRoute("GET /v1/models/{model}", settings.ScopeModelsRead, (*call).readModel)),
		begins(server.Typed[chatRequest, chatCompletion](s.newRoute("POST /v1/chat/completions", settings.ScopeRunsWrite, (*call).createChat))),
		begins(server.Typed[responseRequest, response](s.newRoute("POST /v1/responses", settings.ScopeRunsWrite, (*call).createResponse))),
		markStream(server.Typed[none, response](s.newRoute("GET /v1/responses/{id}", settings.ScopeRunsRead, (*call).readResponse))),
		audited(server.Typed[none, response](s.newRoute("POST /v1/responses/{id}/cancel", settings.ScopeRunsWrite, (*call).cancelResponse)), server.AuditCancelTurn),
		audited(server.Typed[none, deletedView](s.newRoute("DELETE /v1/responses/{id}", settings.ScopeRunsWrite, (*call).deleteResponse)), server.AuditUpdateSession),
		server.Typed[none, itemList](s.newRoute("GET /v1/responses/{id}/input_items", settings.ScopeRunsRead, (*call).listInput)),
		audited(server.Typed[conversationRequest, conversationView](s.newRoute("POST /v1/conversations", settings.ScopeSessionsWrite, (*call).createConversation)), server.AuditCreateSession),
		server.Typed[none, conversationView](s.newRoute("GET /v1/conversations/{id}", settings.ScopeSessionsRead, (*call).readConversation)),
		audited(server.Typed[conversationRequest, conversationView](s.newRoute("POST /v1/conversations/{id}", settings.ScopeSessionsWrite, (*call).updateConversation)), server.AuditUpdateSession),
		audited(server.Typed[none, deletedView](s.newRoute("DELETE /v1/conversations/{id}", settings.ScopeSessionsWrite, (*call).deleteConversation)), server.AuditUpdateSession),
		server.Typed[none, itemList](s.newRoute("GET /v1/conversations/{id}/items", settings.ScopeSessionsRead, (*call).listItems)),
		audited(server.Typed[conversationRequest, itemList](s.newRoute("POST /v1/conversations/{id}/items", settings.ScopeSessionsWrite, (*call).createItems)), server.AuditUpdateSession),
		server.Typed[none, json.RawMessage](s.newRoute("GET /v1/conversations/{id}/items/{item}", settings.ScopeSessionsRead, (*call).readItem)),
		audited(server.Typed[none, conversationView](s.newRoute("DELETE /v1/conversations/{id}/items/{item}", settings.ScopeSessionsWrite, (*call).deleteItem)), server.AuditUpdateSession),
	}
}

// none is a body without fields.
type none struct{}

// begins marks a route that begins a turn and may stream its answer.
func begins(r server.Route) server.Route {
	r.Begins, r.Stream, r.Audit = true, true, server.AuditCreateTurn
	return r
}

// markStream marks a route that may answer with a stream.
func markStream(r server.Route) server.Route {
	r.Stream = true
	return r
}

func audited(r server.Route, operation string) server.Route {
	r.Audit = operation
	return r
}

// newRoute returns a route whose handler writes its answer, or returns an error.
func (s *Surface) newRoute(pattern, scope string, answer func(*call) error) server.Route {
	return server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		return answer(&call{Surface: s, w: w, r: r, caller: caller})
	})
}

// OpenAPI describes the routes.
func (s *Surface) OpenAPI() []byte { return server.DescribeErrors[errorBody]("OpenAI", s.Routes()) }

// DeferDescription does nothing: tests hold the description against the routes.
func (*Surface) DeferDescription() {}
