package builder

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// maxProbes is how many peers are asked at the same time.
const maxProbes = 16

// ProbePeers asks the peers of all declared agents that run elsewhere whether
// they can be reached, and keeps what goes wrong until it is called again. The
// errors are of type *resolve.InvalidEndpointError.
func (b *AgentRuntimeBuilder) ProbePeers(ctx context.Context) {
	var remote []*spec.Agent
	for _, agent := range b.set.Agents.All() {
		if !agent.Local() {
			remote = append(remote, agent)
		}
	}
	errs := make([]error, len(remote))
	slots := make(chan struct{}, maxProbes)
	var running sync.WaitGroup
	for i, agent := range remote {
		factory, _ := b.set.Backends.Get(agent.Endpoint.Kind())
		prober, ok := factory.(backend.Prober)
		if !ok || agent.Endpoint.Validate().HasErrors() {
			continue // the dry run reports what is wrong without asking
		}
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = probeEndpoint(ctx, prober, agent.Endpoint)
		})
	}
	running.Wait()
	b.probes = nil
	for i, err := range errs {
		if err != nil {
			path := diag.Join(b.set.Agents.Path(remote[i].ID), "endpoint")
			b.probes = append(b.probes, &resolve.InvalidEndpointError{
				Agent: remote[i].ID, Backend: remote[i].Endpoint.Kind(),
				Found: diag.New(diag.InvalidEndpoint, path, "the peer of agent %q cannot be used: %v", remote[i].ID, err),
			})
		}
	}
}

// probeEndpoint asks one peer.
func probeEndpoint(ctx context.Context, prober backend.Prober, endpoint *spec.Endpoint) (err error) {
	defer panics.Recover(&err)
	if prober.Validate(endpoint).HasErrors() {
		return nil // the dry run reports it
	}
	return prober.Probe(ctx, endpoint)
}
