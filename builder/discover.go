package builder

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// DiscoveryError reports that the agents of a remote source could not be discovered.
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

// BuildAndDiscover lists the agents of all remote sources concurrently, and then does what Build
// does. A source that fails is one of the errors.
func (b *AgentRuntimeBuilder) BuildAndDiscover(ctx context.Context) (*runtime.AgentRuntime, error) {
	b.Discover(ctx)
	return b.buildChecked(ctx, resolve.Check)
}

// Discover lists the agents of all remote sources concurrently, and keeps the errors until it is
// called again. A failed source has no agents.
func (b *AgentRuntimeBuilder) Discover(ctx context.Context) {
	b.discovery = nil
	for _, err := range b.LearnAgents(ctx) {
		b.discovery = append(b.discovery, err)
	}
}

// LearnAgents lists the agents of all remote sources concurrently and returns the errors. A failed
// source counts as unknown: references to its agents are not errors, and Rediscover retries it.
func (b *AgentRuntimeBuilder) LearnAgents(ctx context.Context) []*DiscoveryError {
	asked, errs := askSources(ctx, b.set)
	for _, source := range asked {
		b.set.Sources.Put(source.Spec.Name, source)
	}
	return errs
}

// Rediscover lists the agents of all remote sources again and publishes a revision if they
// changed. A failed source keeps its agents. It returns the joined errors; source errors are of
// type *DiscoveryError.
func Rediscover(ctx context.Context, rt *runtime.AgentRuntime) error {
	set := rt.Revision().Set()
	asked, failed := askSources(ctx, set)
	errs := make([]error, 0, len(failed))
	for _, err := range failed {
		errs = append(errs, err)
	}
	asked = slices.DeleteFunc(asked, func(s *registry.Source) bool {
		known, _ := set.Sources.Get(s.Spec.Name)
		return !s.Discovered || known.Discovered && reflect.DeepEqual(s.Agents, known.Agents)
	})
	if len(asked) == 0 {
		return errors.Join(errs...)
	}
	_, err := rt.Publish(ctx, func(draft *registry.Draft) error {
		for _, source := range asked {
			if _, ok := draft.Sources.Get(source.Spec.Name); ok {
				draft.Sources.Put(source.Spec.Name, source)
			}
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// askSources lists the agents of a set's sources. It returns them as new sources, because the old
// ones may belong to a revision.
func askSources(ctx context.Context, set *registry.Set) (asked []*registry.Source, failed []*DiscoveryError) {
	names := set.Sources.IDs()
	errs := make([]error, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		known, _ := set.Sources.Get(name)
		source := &registry.Source{Spec: known.Spec, Position: known.Position, Broken: known.Broken}
		asked = append(asked, source)
		factory, ok := set.Backends.Get(known.Spec.Kind())
		if !ok || known.Broken || known.Spec.Validate().HasErrors() {
			continue // the dry run reports it
		}
		running.Go(func() { errs[i] = discoverAgents(ctx, factory, source) })
	}
	running.Wait()
	for i, source := range asked {
		if errs[i] != nil {
			failed = append(failed, &DiscoveryError{Source: source.Spec.Name, Path: source.Path(), Err: errs[i]})
		}
	}
	return asked, failed
}

// discoverAgents lists one source's agents and names them.
func discoverAgents(ctx context.Context, factory backend.Factory, source *registry.Source) (err error) {
	defer panics.Recover(&err)
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
		if err := checkAgent(agent, agents); err != nil {
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

// checkAgent checks an agent named by a peer: outside data must not define an agent that runs here.
func checkAgent(agent *spec.Agent, before []*spec.Agent) error {
	switch {
	case agent == nil:
		return errors.New("it returned a nil agent")
	case spec.CheckID("", "agent", agent.ID) != nil:
		return fmt.Errorf("the id %.80q of an agent is not allowed", agent.ID)
	case agent.Local():
		return fmt.Errorf("agent %q has no endpoint", agent.ID)
	case slices.ContainsFunc(before, func(a *spec.Agent) bool { _, id := registry.SplitSource(a.ID); return id == agent.ID }):
		return fmt.Errorf("it has two agents with the id %q", agent.ID)
	}
	return nil
}
