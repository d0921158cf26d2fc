// Package openai serves agents to clients of the OpenAI API: models, chat completions, responses
// and conversations. A response or chat completion is a turn, or the part of a turn between two
// answers of its client; a conversation is a session. All output is derived from the log of the
// turn.
package openai

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/spec"
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

// Component returns the protocol as a component of a program. The functions of its clients need the turn tools of
// package shipped or server/agentruns.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceOpenAI, Roots: []string{"/v1/"}, Errors: (*Surface)(nil), New: newComponent}
}

// newComponent returns nil where the configuration switches the protocol off.
func newComponent(s component.Settings) (server.Surface, error) {
	if !s.File.Server.ServesOpenAI() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return New(server.SurfaceSettings{Service: s.Service, Logger: s.Logger})
}

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

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	return []server.Route{
		server.Typed[none, modelList](s.newRoute("GET /v1/models", settings.ScopeModelsRead, (*call).listModels)),
		server.Typed[none, modelView](s.newRoute("GET /v1/models/{model}", settings.ScopeModelsRead, (*call).readModel)),
		begins(server.Typed[chatRequest, chatCompletion](s.newRoute("POST /v1/chat/completions", settings.ScopeRunsWrite, (*call).createChat))),
		begins(server.Typed[responseRequest, response](s.newRoute("POST /v1/responses", settings.ScopeRunsWrite, (*call).createResponse))),
		markStream(server.Typed[none, response](s.newRoute("GET /v1/responses/{id}", settings.ScopeRunsRead, onResponse((*call).readResponse)))),
		audited(server.Typed[none, response](s.newRoute("POST /v1/responses/{id}/cancel", settings.ScopeRunsWrite, onResponse((*call).cancelResponse))), server.AuditCancelTurn),
		audited(server.Typed[none, deletedView](s.newRoute("DELETE /v1/responses/{id}", settings.ScopeRunsWrite, onResponse((*call).deleteResponse))), server.AuditUpdateSession),
		server.Typed[none, itemList](s.newRoute("GET /v1/responses/{id}/input_items", settings.ScopeRunsRead, onResponse((*call).listInput))),
		audited(server.Typed[conversationRequest, conversationView](s.newRoute("POST /v1/conversations", settings.ScopeSessionsWrite, (*call).createConversation)), server.AuditCreateSession),
		server.Typed[none, conversationView](s.newRoute("GET /v1/conversations/{id}", settings.ScopeSessionsRead, onConversation((*call).readConversation))),
		audited(server.Typed[conversationRequest, conversationView](s.newRoute("POST /v1/conversations/{id}", settings.ScopeSessionsWrite, onConversation((*call).updateConversation))), server.AuditUpdateSession),
		audited(server.Typed[none, deletedView](s.newRoute("DELETE /v1/conversations/{id}", settings.ScopeSessionsWrite, onConversation((*call).deleteConversation))), server.AuditUpdateSession),
		server.Typed[none, itemList](s.newRoute("GET /v1/conversations/{id}/items", settings.ScopeSessionsRead, onConversation((*call).listItems))),
		audited(server.Typed[conversationRequest, itemList](s.newRoute("POST /v1/conversations/{id}/items", settings.ScopeSessionsWrite, onConversation((*call).createItems))), server.AuditUpdateSession),
		server.Typed[none, json.RawMessage](s.newRoute("GET /v1/conversations/{id}/items/{item}", settings.ScopeSessionsRead, onConversation((*call).readItem))),
		audited(server.Typed[none, conversationView](s.newRoute("DELETE /v1/conversations/{id}/items/{item}", settings.ScopeSessionsWrite, onConversation((*call).deleteItem))), server.AuditUpdateSession),
	}
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

func audited(r server.Route, operation string) server.Route {
	r.Audit = operation
	return r
}

func (s *Surface) newRoute(pattern, scope string, answer func(*call) (any, error)) server.Route {
	return s.NewRoute(pattern, scope, func(r *surfacekit.Request) (any, error) { return answer(&call{r}) })
}

// OpenAPI describes the routes.
func (s *Surface) OpenAPI() []byte { return server.DescribeErrors[errorBody]("OpenAI", s.Routes()) }

// modelList is the body of the list of models.
type modelList struct {
	Object string      `json:"object"`
	Data   []modelView `json:"data"`
}

// modelView shows an agent as a model.
type modelView struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	Name    string `json:"name,omitempty"`
}

// started is when the program started, which models show as the time of their creation: agents
// have none.
var started = time.Now().Unix()

func viewModel(id string, agent *spec.Agent) modelView {
	return modelView{ID: id, Object: "model", Created: started, OwnedBy: "agentruntime", Name: agent.Description}
}

// listModels answers with the agents that the key may use.
func (c *call) listModels() (any, error) {
	list := modelList{Object: "list", Data: []modelView{}}
	for id, agent := range c.Service.Catalog(c.Context(), c.Caller).Agents() {
		list.Data = append(list.Data, viewModel(id, agent))
	}
	return list, nil
}

func (c *call) readModel() (any, error) {
	id := c.R.PathValue("model")
	agent, err := c.Service.Catalog(c.Context(), c.Caller).Agent(id)
	if err != nil {
		return nil, unknownModel(id)
	}
	return viewModel(id, agent), nil
}
