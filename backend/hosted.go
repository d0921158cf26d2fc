package backend

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// AgentProvider provides agents hosted by the runtime: a program runs the turns, with this
// runtime's tools, plugins and limits. An io.Closer is closed with the last revision that has it,
// and a Starter is started with the server. It is called concurrently.
type AgentProvider interface {
	// Validate returns the problems of an agent's endpoint, with paths relative to it. It must not
	// use the network.
	Validate(endpoint *spec.Endpoint) diag.List
	// Host returns the backend of an agent whose endpoint passed Validate. The backend gets the
	// agent's environment in Job.Local, without a model. Host must not use the network.
	Host(endpoint *spec.Endpoint) (Backend, error)
	// Probe returns why the provider cannot run an agent as declared, or nil: a *CapabilityError
	// for a missing capability, any other error if it is unusable. It starts the provider if
	// necessary.
	Probe(ctx context.Context, agent *spec.Agent) error
}

// CapabilityError reports capabilities that an agent needs and its provider lacks.
type CapabilityError struct {
	Provider, Capability, Need string
}

// Error names the provider, the capability and the part that needs it.
func (e *CapabilityError) Error() string {
	return fmt.Sprintf("agent provider %q does not have the capability %s, which %s needs", e.Provider, e.Capability, e.Need)
}

// Capability is a feature of an agent provider.
type Capability string

// The capabilities.
const (
	StreamingText      Capability = "streaming_text"
	ToolCalls          Capability = "tool_calls"
	ParallelToolCalls  Capability = "parallel_tool_calls"
	StructuredOutput   Capability = "structured_output"
	Interactions       Capability = "interactions"
	ResumableTurns     Capability = "resumable_turns"
	ReasoningSummaries Capability = "reasoning_summaries"
	PreparedWorkspaces Capability = "supports_prepared_workspace"
)

// Capabilities are the capabilities of an agent provider in turns of this runtime.
type Capabilities []Capability

// Have reports whether a capability is among them.
func (c Capabilities) Have(one Capability) bool { return slices.Contains(c, one) }

// CapabilityReporter is implemented by agent providers that report their capabilities.
type CapabilityReporter interface {
	// Capabilities returns immediately if a process runs, or else waits for one to start, at most
	// until ctx ends. ToolCalls is included if the provider can call the runtime's tools.
	Capabilities(ctx context.Context) (Capabilities, error)
}

// Starter is implemented by agent providers that can start before they are used.
type Starter interface {
	// Start does not block; later errors are logged.
	Start()
}

// Retirer is implemented by agent providers that must know when they are no longer used.
type Retirer interface {
	// Retire is called once, when a revision without the provider has become current. Turns of
	// older revisions may continue and start until Close. It must not block.
	Retire()
}

// AgentProviderSettings is passed to a new agent provider.
type AgentProviderSettings struct {
	// ID is the provider's id.
	ID string
	// Dir is the configuration file's directory, the base of relative paths.
	Dir string
	// Logger writes to the log of the runtime, under the provider's name.
	Logger *slog.Logger

	_ struct{} // keyed literals only
}

// AgentProviderKind is one value of the type field of an agent provider in a
// configuration file.
type AgentProviderKind = spec.Kind[AgentProviderSettings, AgentProvider]
