package builder

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
)

// Adopt has the builder take from a revision what it collected alike, so that Check and
// Publish resolve only the agents that depend on something else. It is called after what
// collects, and after the servers of tools and the peers were asked. The caller has
// acquired the revision, and releases it after Publish or Close.
func (b *AgentRuntimeBuilder) Adopt(rev *registry.Revision) *AgentRuntimeBuilder {
	b.base = rev
	_ = registry.CloseComponents(b.set.Adopt(rev.Set())) // they were never used
	return b
}

// Publish makes what the builder collected all that a runtime knows, in place of
// what it knew before: it resolves every agent once, as Build does, and publishes
// a revision. When something is wrong nothing changes, and the error is a
// *BuildError. Turns in flight keep the revision they began with; the components
// of the revision before are closed when no turn uses them any more. From then on
// those of the builder belong to the runtime.
func (b *AgentRuntimeBuilder) Publish(ctx context.Context, rt *runtime.AgentRuntime) (*registry.Revision, error) {
	if err := b.joinedError(); err != nil {
		return nil, &BuildError{Diagnostics: diag.FromError(err).Dedup(), Err: err}
	}
	if len(b.patched) > 0 {
		if _, list := b.Check(ctx); list.HasErrors() {
			return nil, &BuildError{Diagnostics: list, Err: list.Err()}
		}
	}
	rev, err := rt.Publish(ctx, b.fillDraft)
	if invalid, ok := errors.AsType[*registry.InvalidError](err); ok {
		return nil, &BuildError{Diagnostics: invalid.Diagnostics.Dedup(), Err: invalid.Err}
	}
	if err != nil {
		return nil, err
	}
	b.publishOnChange(rt)
	return rev, nil
}
