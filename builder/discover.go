package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// DiscoveryError says that the agents of a remote source could not be learnt.
type DiscoveryError struct {
	Source string
	Path   string
	Err    error
}

// Error names the source and the cause.
func (e *DiscoveryError) Error() string { return e.Diagnostic().Error() }

// Unwrap returns the cause.
func (e *DiscoveryError) Unwrap() error { return e.Err }

// Diagnostic returns the error as invalid-endpoint at the source.
func (e *DiscoveryError) Diagnostic() diag.Diagnostic {
	return diag.New(diag.InvalidEndpoint, e.Path, "remote source %q cannot be discovered: %v", e.Source, e.Err)
}

// BuildAndDiscover asks all remote sources for their agents, at the same time,
// and then does what Build does. A source that fails is one of the errors.
func (b *AgentRuntimeBuilder) BuildAndDiscover(ctx context.Context) (*runtime.AgentRuntime, error) {
	b.Discover(ctx)
	return b.build(ctx, resolve.Check)
}

// Discover asks all remote sources for their agents, at the same time, and
// keeps what goes wrong until it is called again. A source that fails has no
// agents.
func (b *AgentRuntimeBuilder) Discover(ctx context.Context) {
	names := b.set.Sources.IDs()
	errs := make([]error, len(names))
	asked := make([]*registry.Source, len(names)) // new ones: the old may belong to a revision
	var running sync.WaitGroup
	for i, name := range names {
		known, _ := b.set.Sources.Get(name)
		asked[i] = &registry.Source{Spec: known.Spec, Position: known.Position}
		factory, ok := b.set.Backends.Get(known.Spec.Kind())
		if !ok || known.Spec.Validate().HasErrors() {
			continue // the dry run reports it
		}
		running.Go(func() { errs[i] = discover(ctx, factory, asked[i]) })
	}
	running.Wait()
	b.discovery = nil
	for i, name := range names {
		b.set.Sources.Put(name, asked[i])
		if errs[i] != nil {
			b.discovery = append(b.discovery, &DiscoveryError{Source: name, Path: asked[i].Path(), Err: errs[i]})
		}
	}
}

// discover asks one source, and names its agents.
func discover(ctx context.Context, factory backend.Factory, source *registry.Source) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	discoverer, ok := factory.(backend.Discoverer)
	if !ok {
		return fmt.Errorf("backend %q cannot discover agents", factory.Kind())
	}
	remote := source.Spec
	found, err := discoverer.Discover(ctx, &remote)
	if err != nil {
		return err
	}
	agents := make([]*spec.Agent, 0, len(found))
	for _, agent := range found {
		if err := acceptable(agent, agents); err != nil {
			return err
		}
		own := agent.Clone()
		own.ID = remote.Name + "/" + agent.ID
		own.Registry = remote.Name
		agents = append(agents, own)
	}
	source.Agents, source.Discovered = agents, true
	return nil
}

// acceptable checks an agent that a peer has named: what comes from outside must
// not define an agent that runs here.
func acceptable(agent *spec.Agent, before []*spec.Agent) error {
	switch {
	case agent == nil:
		return errors.New("it names an agent that is nil")
	case spec.CheckID("", "agent", agent.ID) != nil:
		return fmt.Errorf("the id %.80q of an agent is not allowed", agent.ID)
	case agent.Local():
		return fmt.Errorf("agent %q has no endpoint", agent.ID)
	case slices.ContainsFunc(before, func(a *spec.Agent) bool { _, id := registry.SplitSource(a.ID); return id == agent.ID }):
		return fmt.Errorf("it has two agents with the id %q", agent.ID)
	}
	return nil
}
