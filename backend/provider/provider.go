package provider

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/spec"
)

// provider is a hosted provider of agents. It starts with the server, by Start, or on first use. It
// is safe for concurrent use.
type provider struct {
	id          string
	hosts       *hosts
	host        *host
	connections map[string]hostservice.Connection
	logger      *slog.Logger
	// toolless is set if the provider cannot call back.
	toolless bool

	mu      sync.Mutex
	retired bool
	closing sync.Once
	err     error
}

var (
	_ backend.AgentProvider      = (*provider)(nil)
	_ backend.Starter            = (*provider)(nil)
	_ backend.Retirer            = (*provider)(nil)
	_ backend.CapabilityReporter = (*provider)(nil)
)

// Validate reports the problems of an endpoint's options.
func (*provider) Validate(e *spec.Endpoint) diag.List {
	_, list := decodeOptions(e)
	return list
}

// Host returns the backend of an agent.
func (p *provider) Host(e *spec.Endpoint) (backend.Backend, error) {
	o, list := decodeOptions(e)
	if err := list.Err(); err != nil {
		return nil, err
	}
	return &hosted{provider: p, options: o, limit: e.Limit()}, nil
}

// acquire returns a process for a turn of a session, or with once why a start failed.
func (p *provider) acquire(ctx context.Context, session string, once bool) (*pool.Lease, error) {
	p.hosts.noteUse(p.host)
	return p.host.Acquire(ctx, session, once)
}

// Start starts the initial processes.
func (p *provider) Start() {
	if err := p.host.Start(); err != nil {
		p.logger.Error("start of the provider failed", "error", err)
	}
}

// Probe starts the provider, or connects to the running one, and returns why an agent cannot run
// there.
func (p *provider) Probe(ctx context.Context, agent *spec.Agent) error {
	lease, err := p.acquire(ctx, "", true)
	if err != nil {
		return err
	}
	defer lease.Release()
	return p.checkCapabilities(lease.Capabilities, needs{form: agent.OutputSchema != nil, tools: usesTools(agent)})
}

// errUnusable omits the reason: a provider may have worded it, and any caller may request the
// capabilities.
var errUnusable = errors.New("the provider cannot be used now; the reason is in the log of the runtime")

// Capabilities returns the provider's capabilities, as reported by the running process.
func (p *provider) Capabilities(ctx context.Context) (backend.Capabilities, error) {
	can := p.host.Capabilities()
	if can == nil {
		lease, err := p.acquire(ctx, "", true)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, errUnusable
		}
		can = lease.Capabilities
		lease.Release()
	}
	var list backend.Capabilities
	for _, c := range []struct {
		name backend.Capability
		has  bool
	}{
		{backend.StreamingText, can.GetStreamingText()},
		{backend.ToolCalls, canCallTools(can) && !p.toolless},
		{backend.ParallelToolCalls, can.GetParallelToolCalls() && canCallTools(can) && !p.toolless},
		{backend.StructuredOutput, can.GetStructuredOutput()},
		{backend.Interactions, can.GetInteractions()},
		{backend.ResumableTurns, can.GetResumableTurns()},
		{backend.ReasoningSummaries, can.GetReasoningSummaries()},
		{backend.PreparedWorkspaces, can.GetSupportsPreparedWorkspace()},
	} {
		if c.has {
			list = append(list, c.name)
		}
	}
	return list, nil
}

// usesTools reports whether an agent's declaration uses tools.
func usesTools(agent *spec.Agent) bool {
	return len(agent.AllowedTools)+len(agent.AllowedToolPatterns)+len(agent.Delegates) > 0
}

// needs are a turn's requirements on its provider: structured output, tools, and a workspace.
type needs struct{ form, tools, workspace bool }

// checkCapabilities returns a *backend.CapabilityError if the provider does not meet a turn's
// requirements.
func (p *provider) checkCapabilities(can *providerproto.AgentProviderCapabilities, n needs) error {
	switch {
	case n.workspace && !can.GetSupportsPreparedWorkspace():
		return &backend.CapabilityError{Provider: p.id, Capability: string(backend.PreparedWorkspaces), Need: "a session with a workspace"}
	case n.form && !can.GetStructuredOutput():
		return &backend.CapabilityError{Provider: p.id, Capability: string(backend.StructuredOutput), Need: "output_schema"}
	case n.tools && !canCallTools(can):
		return &backend.CapabilityError{Provider: p.id, Capability: string(backend.ToolCalls), Need: "an agent with tools"}
	case n.tools && p.toolless:
		return &backend.CapabilityError{Provider: p.id, Capability: "host_address", Need: "an agent with tools"}
	}
	return nil
}

// canCallTools reports whether a provider can call its host's tools.
func canCallTools(can *providerproto.AgentProviderCapabilities) bool {
	return can.GetToolCalls() || listsTools(can)
}

// listsTools reports whether a provider lists the tools of its host.
func listsTools(can *providerproto.AgentProviderCapabilities) bool {
	return slices.Contains(can.GetSupportedToolSources(), providerproto.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_MCP_CATALOG)
}

// Retire gives the provider's turns the time of a shutdown, unless another configuration also uses
// the provider. Then the processes end. A turn that needs one later gets the same time.
func (p *provider) Retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.retired {
		p.retired = true
		p.hosts.retireHost(p.host)
	}
}

// Close lets the turns end and stops the provider, unless another configuration also uses it.
func (p *provider) Close() error {
	p.closing.Do(func() {
		p.mu.Lock()
		retired := p.retired
		p.retired = true
		p.mu.Unlock()
		p.err = p.hosts.closeHost(p.host, retired)
	})
	return p.err
}

// hosted runs the turns of one agent at a provider.
type hosted struct {
	provider *provider
	options  *options
	limit    time.Duration
}
