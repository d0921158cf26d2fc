package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// ErrNotHosted means that an agent does not run at a hosted provider.
var ErrNotHosted = errors.New("the agent runs at no hosted provider")

// errNoReport means that a provider does not report its capabilities.
var errNoReport = errors.New("the provider does not report its capabilities")

// HostedCapabilities returns the capabilities of a hosted agent's provider. It starts the
// provider if necessary, bounded by ctx.
func (a *Agents) HostedCapabilities(ctx context.Context, caller Caller, agentID string) (can backend.Capabilities, err error) {
	if a.settings.Runtime == nil {
		return nil, errNoReport
	}
	rev, err := a.acquireRevision(ctx, caller.Tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release() // keeps the provider open
	agent, err := NewCatalog(rev.Set(), caller).Agent(agentID)
	if err != nil {
		return nil, err
	}
	if !agent.Hosted() {
		return nil, ErrNotHosted
	}
	return capabilitiesOf(ctx, rev.Set(), agent)
}

// capabilitiesOf returns the capabilities of a hosted agent's provider.
func capabilitiesOf(ctx context.Context, set *registry.Set, agent *spec.Agent) (can backend.Capabilities, err error) {
	provider, _ := set.AgentProviders.Get(agent.Endpoint.Target)
	reporter, ok := provider.(backend.CapabilityReporter)
	if !ok {
		return nil, errNoReport
	}
	defer panics.Recover(&err)
	return reporter.Capabilities(ctx)
}

// capabilityTime is the timeout for starting a hosted provider to read its capabilities.
const capabilityTime = 5 * time.Second

// checkHosted returns a *backend.CapabilityError if a request needs a capability that the
// provider of its hosted agent lacks. If the capabilities are unknown now, the turn itself fails
// later.
func checkHosted(ctx context.Context, set *registry.Set, agentID string, req *CreateTurn) error {
	agent, ok := set.Agent(agentID)
	if req.Ephemeral != nil {
		agent, ok = &req.Ephemeral.Agent, true
	}
	needs := neededCapabilities(req)
	if !ok || !agent.Hosted() || len(needs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, capabilityTime)
	defer cancel()
	can, err := capabilitiesOf(ctx, set, agent)
	if err != nil {
		return nil //nolint:nilerr // the turn finds out
	}
	for _, n := range needs {
		if !can.Have(n.capability) {
			return &backend.CapabilityError{Provider: agent.Endpoint.Target, Capability: string(n.capability), Need: n.what}
		}
	}
	return nil
}

// need is a capability that a request needs of a hosted provider, and its purpose.
type need struct {
	capability backend.Capability
	what       string
}

// neededCapabilities returns the provider capabilities that a request needs. Needs of the agent's
// declaration are excluded; they were checked with the configuration.
func neededCapabilities(req *CreateTurn) []need {
	var needs []need
	if req.Overrides.Output != nil {
		needs = append(needs, need{backend.StructuredOutput, "an output schema"})
	}
	brings := req.Ephemeral != nil && slices.ContainsFunc(req.Ephemeral.Tools, func(t EphemeralTool) bool { return !t.Silent })
	if brings || len(req.Overrides.Tools) > 0 {
		needs = append(needs, need{backend.ToolCalls, "a turn that asks for tools"})
	}
	return needs
}
