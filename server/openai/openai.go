// Package openai serves agents to clients of the OpenAI API: models, chat completions, responses
// and conversations. A response or chat completion is a turn, or the part of a turn between two
// answers of its client; a conversation is a session. All output is derived from the log of the
// turn.
package openai

import (
	"net/http"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/chat"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
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

// Component returns the protocol as a component of a program. Its clients' functions need the turn
// tools of package shipped or server/agentruns.
func Component() component.Surface {
	return component.NewSurface(settings.SurfaceOpenAI, "/v1/", (*Surface)(nil), (*settings.Server).ServesOpenAI, New)
}

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	return slices.Concat(
		[]server.Route{
			server.Typed[surfacekit.None, modelList](run.NewRoute(s.Base, "GET /v1/models", settings.ScopeModelsRead, listModels)),
			server.Typed[surfacekit.None, modelView](run.NewRoute(s.Base, "GET /v1/models/{model}", settings.ScopeModelsRead, readModel)),
		}, chat.Routes(s.Base), responses.Routes(s.Base),
	)
}

// WriteError answers with an error of the router.
func (*Surface) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	f := &server.Failure{Status: e.Status, Code: e.Code, Message: e.Message}
	if e.Status == http.StatusUnauthorized {
		f.Code = "invalid_api_key"
	}
	run.WriteFailure(w, f)
}

// WriteFailure answers with an error of a handler.
func (s *Surface) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	f := run.DescribeError(s.Base, r, err)
	server.NoteAudit(r.Context(), zap.String("error", f.Code))
	run.WriteFailure(w, f)
}

// OpenAPI describes the routes.
func (s *Surface) OpenAPI() []byte { return server.DescribeErrors[run.ErrorBody]("OpenAI", s.Routes()) }

// Parameter is a parameter of a request.
type Parameter = run.Parameter

// ChatParameters returns the parameters of POST /v1/chat/completions. Others are ignored,
// because proxies add their own.
func ChatParameters() []Parameter { return slices.Clone(chat.Parameters) }

// ResponseParameters returns the parameters of POST /v1/responses, like ChatParameters.
func ResponseParameters() []Parameter { return slices.Clone(responses.Parameters) }

// modelList is the body of a model list.
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

// started is the start time of the program. Models show it as their creation time, because agents
// have none.
var started = time.Now().Unix()

func viewModel(id string, agent *spec.Agent) modelView {
	return modelView{ID: id, Object: "model", Created: started, OwnedBy: "agentruntime", Name: agent.Description}
}

// listModels responds with the agents that the key may use.
func listModels(c *run.Call) (any, error) {
	list := modelList{Object: "list", Data: []modelView{}}
	for id, agent := range c.Service.Catalog(c.Context(), c.Caller).Agents() {
		list.Data = append(list.Data, viewModel(id, agent))
	}
	return list, nil
}

func readModel(c *run.Call) (any, error) {
	id := c.R.PathValue("model")
	agent, err := c.Service.Catalog(c.Context(), c.Caller).Agent(id)
	if err != nil {
		return nil, run.UnknownModel(id)
	}
	return viewModel(id, agent), nil
}
