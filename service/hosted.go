package service

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/panics"
)

// ErrNotHosted reports an agent that does not run at a hosted provider.
var ErrNotHosted = errors.New("the agent runs at no hosted provider")

// errNoReport reports a provider that does not report what it can do.
var errNoReport = errors.New("the provider does not report what it can do")

// HostedCapabilities returns what the provider of a hosted agent can do. A provider that
// does not run is started, which ctx bounds.
func (s *Service) HostedCapabilities(ctx context.Context, caller Caller, agentID string) (can backend.Capabilities, err error) {
	if s.settings.Runtime == nil {
		return nil, errNoReport
	}
	rev, err := s.acquireRevision(ctx, caller.Tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release() // it keeps the provider open
	agent, err := NewCatalog(rev.Set(), caller).Agent(agentID)
	if err != nil {
		return nil, err
	}
	if !agent.Hosted() {
		return nil, ErrNotHosted
	}
	provider, _ := rev.Set().AgentProviders.Get(agent.Endpoint.Target)
	reporter, ok := provider.(backend.CapabilityReporter)
	if !ok {
		return nil, errNoReport
	}
	defer panics.Recover(&err)
	return reporter.Capabilities(ctx)
}
