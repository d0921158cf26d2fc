// Package agents serves declared agents over the agents API: POST /agents/{name} runs
// one turn of a conversation, as JSON or as a stream, and its companion routes read,
// await and abort turns. Package agents implements turns; this package exposes
// them over HTTP.
package agents

import (
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// Settings configures the surface. Agents, or a Service with a runtime, is required.
type Settings struct {
	Service *service.Service
	// Agents are the agents to serve; nil means those that the service declares.
	Agents *agents.Set
	// Exposed restricts the agents; nil means all. The others appear not to exist.
	Exposed *service.AgentSet
	// MaxWait is how long a request waits for a snapshot; 0 means until its turn has ended.
	MaxWait time.Duration
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

// New returns the surface. It fails without agents, and without a service that has a
// runtime.
func New(s Settings) (*Surface, error) {
	if s.Agents == nil {
		var err error
		if s.Agents, err = agents.NewSet(agents.Settings{Service: s.Service}); err != nil {
			return nil, err
		}
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Surface{settings: s}, nil
}

// call is a request and the agent that it names, limited to what its caller may use.
type call struct {
	*Surface
	w     http.ResponseWriter
	r     *http.Request
	agent agents.Handle
}
