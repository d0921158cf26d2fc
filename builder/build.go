package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
)

// Build builds the runtime and resolves every agent once to find those that cannot run. The error
// is a *BuildError with all problems.
func (b *AgentRuntimeBuilder) Build() (*runtime.AgentRuntime, error) {
	return b.buildChecked(context.Background(), resolve.Check)
}

// BuildUnchecked builds the runtime without resolving anything: an agent that cannot run fails on
// first use. The error is a *BuildError with the errors of the With methods.
func (b *AgentRuntimeBuilder) BuildUnchecked() (*runtime.AgentRuntime, error) {
	return b.buildChecked(context.Background(), nil)
}

// Check checks what Build would and returns all findings, including warnings and notes, without
// building a runtime. The revision is nil if ctx ended first.
func (b *AgentRuntimeBuilder) Check(ctx context.Context) (*registry.Revision, diag.List) {
	base := b.base
	if base == nil {
		base = registry.NewStore(nil).Current()
	}
	found := diag.FromError(b.joinedError())
	rev, more, _ := registry.Try(ctx, base, b.set.Clone(), resolve.Check)
	if rev == nil {
		return nil, found
	}
	found = append(found, more...)
	if !found.HasErrors() {
		found = append(found, b.checkPatches(ctx, rev)...)
		found = append(found, checkUnattended(ctx, rev, b.configs)...)
	}
	if ctx.Err() != nil {
		return nil, found
	}
	return rev, withoutAmbiguity(found).Dedup()
}

// BuildRevision returns a separate revision that is not current in any runtime. It is unchecked:
// anything unresolved fails when a turn needs it.
func (b *AgentRuntimeBuilder) BuildRevision(ctx context.Context) (*registry.Revision, error) {
	return registry.NewStore(nil).PublishUnchecked(ctx, b.fillDraft)
}

// withoutAmbiguity drops diagnostics about ambiguous references: an id of both a model and a pool
// was rejected when the second was added.
func withoutAmbiguity(list diag.List) diag.List {
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.AmbiguousModel })
}

// joinedError returns the errors found before resolving.
func (b *AgentRuntimeBuilder) joinedError() error {
	return errors.Join(errors.Join(b.errs...), errors.Join(b.discovery...), errors.Join(b.probes...), errors.Join(b.refresh...))
}

// buildChecked publishes the first revision; a nil check publishes it unchecked.
func (b *AgentRuntimeBuilder) buildChecked(ctx context.Context, check registry.Check) (*runtime.AgentRuntime, error) {
	store := registry.NewStore(resolve.Check)
	publish := store.PublishUnchecked
	if check != nil {
		publish = store.Publish
	}
	_, err := publish(ctx, b.fillDraft)
	found := diag.FromError(b.joinedError())
	if invalid, ok := errors.AsType[*registry.InvalidError](err); ok {
		found = append(found, invalid.Diagnostics...)
		err = invalid.Err
	}
	err = errors.Join(b.joinedError(), err)
	if err == nil && check != nil {
		widened := b.checkPatches(ctx, store.Current())
		found, err = append(found, widened...), widened.Err()
	}
	if err != nil {
		return nil, &BuildError{Diagnostics: withoutAmbiguity(found).Dedup(), Err: err}
	}
	rt := runtime.New(runtime.Settings{
		Registry: store, Local: b.local, Logger: b.logger, Warn: b.warn, Telemetry: b.observer, NewID: b.newID, Depth: b.depth,
	})
	b.publishOnChange(rt)
	return rt, nil
}

// fillDraft fills an empty draft.
func (b *AgentRuntimeBuilder) fillDraft(draft *registry.Draft) error {
	draft.Set = b.set.Clone()
	return nil
}

// BuildError reports why no runtime was built: all problems of all agents.
type BuildError struct {
	// Diagnostics are all findings, including warnings and notes.
	Diagnostics diag.List
	// Err is the errors joined. errors.As finds each of them.
	Err error
}

// Error counts and lists the errors, one per line.
func (e *BuildError) Error() string {
	n := e.Diagnostics.Count(diag.Error)
	if n <= 1 {
		return fmt.Sprintf("the runtime was not built: %v", e.Err)
	}
	return fmt.Sprintf("the runtime was not built, for %d errors:\n%v", n, e.Err)
}

// Unwrap returns the errors joined.
func (e *BuildError) Unwrap() error { return e.Err }
