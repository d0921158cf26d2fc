package builder

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
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
// keeps what goes wrong.
func (b *AgentRuntimeBuilder) Discover(ctx context.Context) {
	names := b.set.Sources.IDs()
	errs := make([]error, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		source, _ := b.set.Sources.Get(name)
		factory, ok := b.set.Backends.Get(source.Spec.Kind())
		if !ok {
			continue // the dry run reports it
		}
		running.Go(func() { errs[i] = discover(ctx, factory, source) })
	}
	running.Wait()
	for i, err := range errs {
		if err != nil {
			source, _ := b.set.Sources.Get(names[i])
			b.keep(&DiscoveryError{Source: names[i], Path: diag.Index("remote_agents", source.Position), Err: err})
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
	found, err := discoverer.Discover(ctx, &source.Spec)
	if err != nil {
		return err
	}
	source.Agents = nil
	for _, agent := range found {
		own := agent.Clone()
		own.ID = source.Spec.Name + "/" + agent.ID
		own.Registry = source.Spec.Name
		source.Agents = append(source.Agents, own)
	}
	source.Discovered = true
	return nil
}
