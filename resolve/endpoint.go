package resolve

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// host makes the backend of an agent with an endpoint: a backend factory, or a hosted provider.
type host struct {
	// name is the host for people, and method the method that makes a backend.
	name, method string
	validate     func() diag.List
	make         func() (backend.Backend, error)
}

// lookupEndpoint creates the backend of an agent with an endpoint.
func (r *resolver) lookupEndpoint() {
	hosted, endpoint := r.agent.Hosted(), r.agent.Endpoint
	host, errs := r.index.checkEndpoint(r.agent, r.agent.ID, r.pathOf("endpoint"))
	if hosted {
		r.dependOn(onAgentProvider, endpoint.Target)
	}
	if errs != nil {
		r.errs = append(r.errs, errs...)
		return
	}
	made, err := host.newBackend()
	if err != nil {
		r.addError(&InvalidEndpointError{
			Agent: r.agent.ID, Backend: endpoint.Kind(),
			Found: diag.New(diag.InvalidEndpoint, r.pathOf("endpoint"), "%s: %v", host.name, err),
		})
		return
	}
	r.remote = made
	if hosted {
		r.trace.addChoice("hosted", "by agent provider", endpoint.Target, "the agent's answers come from there, its tools run here")
	} else {
		r.trace.addChoice("delegated", "the whole turn to backend", endpoint.Kind(), "the agent has an endpoint")
	}
}

// newBackend creates the backend of the endpoint.
func (h *host) newBackend() (made backend.Backend, err error) {
	if panicked := callGuarded(h.method, func() { made, err = h.make() }); panicked != nil {
		return nil, panicked
	}
	if err == nil && made == nil {
		err = errors.New("it made no backend")
	}
	return made, err
}

// findHost returns the host of an endpoint; nil if it is not registered.
func (x *index) findHost(agent *spec.Agent) *host {
	if agent.Hosted() {
		id := agent.Endpoint.Target
		if provider, ok := x.set.AgentProviders.Get(id); ok {
			return &host{
				fmt.Sprintf("agent provider %q", id), "Host", func() diag.List { return provider.Validate(agent.Endpoint) },
				func() (backend.Backend, error) { return provider.Host(agent.Endpoint) },
			}
		}
		return nil
	}
	kind := agent.Endpoint.Kind()
	if factory, ok := x.set.Backends.Get(kind); ok {
		return &host{
			fmt.Sprintf("backend %q", kind), "New", func() diag.List { return factory.Validate(agent.Endpoint) },
			func() (backend.Backend, error) { return factory.New(agent.Endpoint) },
		}
	}
	return nil
}

// checkEndpoint validates the endpoint of an agent, finds its host and also lets the host validate
// it. Errors name wanting, the agent that needs the endpoint.
func (x *index) checkEndpoint(agent *spec.Agent, wanting, path string) (*host, []error) {
	endpoint := agent.Endpoint
	found, host := endpoint.Validate(), x.findHost(agent)
	if host != nil {
		err := callGuarded("Validate", func() { found = append(found, host.validate()...) })
		if err != nil {
			found = append(found, diag.New(diag.InvalidEndpoint, "", "%s: %v", host.name, err))
		}
	}
	var errs []error
	for _, d := range found {
		d.Path = diag.Join(path, d.Path)
		errs = append(errs, &InvalidEndpointError{Agent: wanting, Backend: endpoint.Kind(), Found: d})
	}
	switch id := endpoint.Target; {
	case host != nil, agent.Hosted() && id == "":
	case agent.Hosted():
		errs = append(errs, &AgentProviderNotFoundError{Reference{
			ID: id, Agent: wanting, Path: diag.Join(path, "target"), Nearest: x.nearestID("agent provider", id, x.set.AgentProviders.IDs),
		}})
	default:
		if endpoint.Backend != "" {
			path = diag.Join(path, "backend")
		}
		errs = append(errs, &UnsupportedBackendError{Agent: wanting, Backend: endpoint.Kind(), Path: path, Known: x.set.Backends.IDs()})
	}
	return host, errs
}
