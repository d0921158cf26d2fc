package builder

import (
	"context"
	"errors"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// maxProbes is the maximum number of peers probed concurrently.
const maxProbes = 16

// ProbePeers checks whether the peers of all declared remote agents are reachable, and keeps the
// errors until it is called again. The errors are of type *resolve.InvalidEndpointError.
func (b *AgentRuntimeBuilder) ProbePeers(ctx context.Context) {
	var remote []*spec.Agent
	for _, declared := range b.set.Agents.All() {
		if agent, _ := b.set.Defaults.Apply(declared); !agent.Local() {
			remote = append(remote, agent)
		}
	}
	errs := make([]error, len(remote))
	slots := make(chan struct{}, maxProbes)
	var running sync.WaitGroup
	for i, agent := range remote {
		if agent.Hosted() {
			if provider, ok := b.set.AgentProviders.Get(agent.Endpoint.Target); ok {
				running.Go(func() { errs[i] = probeProvider(ctx, provider, agent) })
			}
			continue
		}
		factory, _ := b.set.Backends.Get(agent.Endpoint.Kind())
		prober, ok := factory.(backend.Prober)
		if !ok || agent.Endpoint.Validate().HasErrors() {
			continue // the dry run reports its problems without a probe
		}
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = probeEndpoint(ctx, prober, agent.Endpoint)
		})
	}
	running.Wait()
	b.probes = nil
	failed := map[string]bool{}
	for i, err := range errs {
		switch {
		case err == nil:
		case remote[i].Hosted():
			b.addHostedProbe(remote[i], err, failed)
		default:
			b.probes = append(b.probes, &resolve.InvalidEndpointError{
				Agent: remote[i].ID, Backend: remote[i].Endpoint.Kind(),
				Found: diag.New(diag.InvalidEndpoint, diag.Join(b.set.Agents.Path(remote[i].ID), "endpoint"), "the peer of agent %q cannot be used: %v", remote[i].ID, err),
			})
		}
	}
}

// addHostedProbe records why a hosted agent cannot run at its provider. An unusable provider is
// added to failed and reported once.
func (b *AgentRuntimeBuilder) addHostedProbe(agent *spec.Agent, err error, failed map[string]bool) {
	id := agent.Endpoint.Target
	if lacks, ok := errors.AsType[*backend.CapabilityError](err); ok {
		path := diag.Join(b.set.Agents.Path(agent.ID), "endpoint.target")
		b.probes = append(b.probes, &resolve.InvalidEndpointError{
			Agent: agent.ID, Backend: spec.HostedBackend, Found: diag.New(diag.InvalidEndpoint, path, "agent %q cannot run there: %v", agent.ID, lacks),
		})
		return
	}
	if !failed[id] {
		failed[id] = true
		b.probes = append(b.probes, &resolve.InvalidEndpointError{
			Backend: spec.HostedBackend, Found: diag.New(diag.InvalidEndpoint, b.set.AgentProviders.Path(id), "agent provider %q cannot be used: %v", id, err),
		})
	}
}

// probeProvider probes a hosted agent's provider.
func probeProvider(ctx context.Context, provider backend.AgentProvider, agent *spec.Agent) (err error) {
	defer panics.Recover(&err)
	if agent.Endpoint.Validate().HasErrors() || provider.Validate(agent.Endpoint).HasErrors() {
		return nil // the dry run reports it
	}
	return provider.Probe(ctx, agent)
}

// probeEndpoint asks one peer.
func probeEndpoint(ctx context.Context, prober backend.Prober, endpoint *spec.Endpoint) (err error) {
	defer panics.Recover(&err)
	if prober.Validate(endpoint).HasErrors() {
		return nil // the dry run reports it
	}
	return prober.Probe(ctx, endpoint)
}
