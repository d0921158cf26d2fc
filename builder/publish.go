package builder

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
)

// Adopt reuses equal parts of a revision, so that Check and Publish resolve only agents that
// depend on other parts. Call it after collecting, including the tools of servers and agents of
// peers. The caller has acquired the revision and releases it after Publish or Close.
func (b *AgentRuntimeBuilder) Adopt(rev *registry.Revision) *AgentRuntimeBuilder {
	b.base = rev
	_ = registry.CloseComponents(b.set.Adopt(rev.Set())) // they were never used
	return b
}

// Publish resolves every agent once, as Build does, and replaces the runtime's content with a new
// revision. If anything is invalid, nothing changes and the error is a *BuildError. Turns in flight
// keep their revision, whose components are closed after their last use. The builder's components
// then belong to the runtime.
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
