// Package agents serves declared agents over the agents API: POST /agents/{name} runs
// one turn of a conversation, as JSON or as a stream, and its companion routes read,
// await and abort turns. A conversation is a session and a snapshot a turn of the
// service; the package only translates.
package agents

import (
	_ "embed"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
	"go.uber.org/zap"
)

// Settings configure the surface. The Service is required and must have a runtime.
type Settings struct {
	Service *service.Service
	// Logger logs internal errors; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Surface is the protocol. It is safe for concurrent use.
type Surface struct{ settings Settings }

var (
	_ server.Surface       = (*Surface)(nil)
	_ server.Describer     = (*Surface)(nil)
	_ server.ErrorWriter   = (*Surface)(nil)
	_ server.FailureWriter = (*Surface)(nil)
)

// New returns the surface. It fails without a service or if the service has no runtime.
func New(s Settings) (*Surface, error) {
	if s.Service == nil {
		return nil, errors.New("the settings have no service")
	}
	if s.Service.Runtime() == nil {
		return nil, errors.New("the service has no runtime")
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Surface{settings: s}, nil
}

//go:embed openapi.yaml
var description []byte

// OpenAPI describes the protocol.
func (*Surface) OpenAPI() []byte { return description }

// Routes returns the routes of the protocol.
func (s *Surface) Routes() []server.Route {
	const path = "POST /agents/{name}"
	run := s.newRoute(path, settings.ScopeRunsWrite, (*call).runTurn)
	run.Begins = true
	return []server.Route{
		run,
		s.newRoute(path+"/getSnapshot", settings.ScopeSessionsRead, (*call).getSnapshot),
		s.newRoute(path+"/waitForSnapshot", settings.ScopeSessionsRead, (*call).waitForSnapshot),
		s.newRoute(path+"/abort", settings.ScopeRunsWrite, (*call).abortTurn),
	}
}

// newRoute returns a route for the agents that the caller may use.
func (s *Surface) newRoute(pattern, scope string, answer func(*call) error) server.Route {
	return server.Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		c := &call{Surface: s, w: w, r: r, caller: caller, agent: r.PathValue("name")}
		if _, err := service.NewCatalog(s.settings.Service.Revision().Set(), caller).Agent(c.agent); err != nil {
			return notFound("agent", c.agent)
		}
		return answer(c)
	})
}

// call is a request, its caller and the agent that it names.
type call struct {
	*Surface
	w      http.ResponseWriter
	r      *http.Request
	caller service.Caller
	agent  string
}
