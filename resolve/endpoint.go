package resolve

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// lookupEndpoint creates the backend of an endpoint-backed agent.
func (r *resolver) lookupEndpoint() {
	factory, errs := r.index.checkEndpoint(r.agent, r.agent.ID, r.pathOf("endpoint"))
	if errs != nil {
		r.errs = append(r.errs, errs...)
		return
	}
	kind := r.agent.Endpoint.Kind()
	remote, err := newBackend(factory, r.agent.Endpoint)
	if err != nil {
		r.addError(&InvalidEndpointError{
			Agent: r.agent.ID, Backend: kind,
			Found: diag.New(diag.InvalidEndpoint, r.pathOf("endpoint"), "%v", err),
		})
		return
	}
	r.remote = remote
	r.trace.addChoice("delegated", "the whole turn to backend", kind, "the agent has an endpoint")
}

// newBackend calls a factory to create an endpoint's backend.
func newBackend(factory backend.Factory, endpoint *spec.Endpoint) (made backend.Backend, err error) {
	if panicked := callGuarded("New", func() { made, err = factory.New(endpoint) }); panicked != nil {
		err = panicked
	}
	if err == nil && made == nil {
		err = errors.New("it made no backend")
	}
	if err != nil {
		return nil, fmt.Errorf("backend %q: %w", endpoint.Kind(), err)
	}
	return made, nil
}

// lookupProvider creates the backend of an agent at a hosted provider.
func (r *resolver) lookupProvider() {
	provider, errs := r.index.checkHosted(r.agent, r.agent.ID, r.pathOf("endpoint"))
	r.dependOn(onAgentProvider, r.agent.Endpoint.Target)
	if r.errs = append(r.errs, errs...); errs != nil {
		return
	}
	var made backend.Backend
	var err error
	if panicked := callGuarded("Host", func() { made, err = provider.Host(r.agent.Endpoint) }); panicked != nil {
		err = panicked
	}
	if err == nil && made == nil {
		err = errors.New("it made no backend")
	}
	if err != nil {
		r.addError(&InvalidEndpointError{
			Agent: r.agent.ID, Backend: spec.HostedBackend,
			Found: diag.New(diag.InvalidEndpoint, r.pathOf("endpoint"), "agent provider %q: %v", r.agent.Endpoint.Target, err),
		})
		return
	}
	r.remote = made
	r.trace.addChoice("hosted", "by agent provider", r.agent.Endpoint.Target, "the agent's answers come from there, its tools run here")
}

// checkEndpoint validates the endpoint of an endpoint-backed agent, finds its factory and also lets
// the factory validate it. Errors name wanting, the agent that needs the endpoint.
func (x *index) checkEndpoint(agent *spec.Agent, wanting, path string) (backend.Factory, []error) {
	if agent.Hosted() {
		_, errs := x.checkHosted(agent, wanting, path)
		return nil, errs
	}
	kind := agent.Endpoint.Kind()
	found := agent.Endpoint.Validate()
	factory, known := x.set.Backends.Get(kind)
	if known {
		err := callGuarded("Validate", func() { found = append(found, factory.Validate(agent.Endpoint)...) })
		if err != nil {
			found = append(found, diag.New(diag.InvalidEndpoint, "", "backend %q: %v", kind, err))
		}
	}
	var errs []error
	for _, d := range found {
		d.Path = diag.Join(path, d.Path)
		errs = append(errs, &InvalidEndpointError{Agent: wanting, Backend: kind, Found: d})
	}
	if !known {
		if agent.Endpoint.Backend != "" {
			path = diag.Join(path, "backend")
		}
		errs = append(errs, &UnsupportedBackendError{Agent: wanting, Backend: kind, Path: path, Known: x.set.Backends.IDs()})
	}
	return factory, errs
}

// checkHosted validates the endpoint of an agent at a hosted provider, and finds the provider.
// Errors name wanting, the agent that needs the endpoint.
func (x *index) checkHosted(agent *spec.Agent, wanting, path string) (backend.AgentProvider, []error) {
	id := agent.Endpoint.Target
	found := agent.Endpoint.Validate()
	provider, known := x.set.AgentProviders.Get(id)
	if known {
		err := callGuarded("Validate", func() { found = append(found, provider.Validate(agent.Endpoint)...) })
		if err != nil {
			found = append(found, diag.New(diag.InvalidEndpoint, "", "agent provider %q: %v", id, err))
		}
	}
	var errs []error
	for _, d := range found {
		d.Path = diag.Join(path, d.Path)
		errs = append(errs, &InvalidEndpointError{Agent: wanting, Backend: spec.HostedBackend, Found: d})
	}
	if !known && id != "" {
		errs = append(errs, &AgentProviderNotFoundError{Reference{
			ID: id, Agent: wanting, Path: diag.Join(path, "target"), Nearest: x.nearestID("agent provider", id, x.set.AgentProviders.IDs),
		}})
	}
	return provider, errs
}
