package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// BundleError reports that listing the tools of a bundle failed.
type BundleError struct {
	// Bundle is the id of the entry.
	Bundle string
	Path   string
	Err    error
}

// Error names the entry and the cause.
func (e *BundleError) Error() string { return e.Diagnostic().Error() }

// Unwrap returns the cause.
func (e *BundleError) Unwrap() error { return e.Err }

// Diagnostic returns the error as no-catalog at the entry.
func (e *BundleError) Diagnostic() diag.Diagnostic {
	d := diag.New(diag.NoCatalog, e.Path, "the tools of %q cannot be listed: %v", e.Bundle, e.Err)
	d.Severity = diag.Error
	return d
}

// RefreshTools lists the tools of all tool servers concurrently and keeps the errors until it is
// called again. A server that fails keeps its known tools.
func (b *AgentRuntimeBuilder) RefreshTools(ctx context.Context) {
	b.refresh = nil
	for _, err := range b.refreshBundles(ctx, func(tools.LiveBundle) bool { return true }) {
		b.refresh = append(b.refresh, err)
		if bundle, _ := b.set.Bundles.Get(err.Bundle); len(bundle.Found) > 0 {
			// The error is more specific than the earlier diagnostic.
			b.set.Bundles.Put(err.Bundle, &registry.Bundle{Source: bundle.Source})
		}
	}
}

// ListToolsFor lists tools with one tenant's variables, for servers whose settings refer to tenant
// variables. By default the variables' defaults are used.
func (b *AgentRuntimeBuilder) ListToolsFor(tenant tools.TenantSource) { b.tenant = tenant }

// LearnTools lists the tools of servers without known tools. A failed server has no tools; this is
// logged, and the dry run warns about it.
func (b *AgentRuntimeBuilder) LearnTools(ctx context.Context) {
	for _, err := range b.refreshBundles(ctx, func(l tools.LiveBundle) bool { return !l.Known() }) {
		b.logger.Named("tool."+err.Bundle).Warn("the tools cannot be listed", zap.Error(err.Err))
	}
}

// UnknownTools returns the servers without known tools, mapped to the prefix of their tools' ids.
func (b *AgentRuntimeBuilder) UnknownTools() map[string]string {
	unknown := map[string]string{}
	for id, bundle := range b.set.Bundles.All() {
		if live, ok := bundle.Source.(tools.LiveBundle); ok && !live.Known() {
			unknown[id] = live.Prefix()
		}
	}
	return unknown
}

// ToolsError reports that the tools of a server could not be listed or published.
type ToolsError struct {
	// Server is the server's id.
	Server string
	Err    error
}

// Error names the server and the cause.
func (e *ToolsError) Error() string { return fmt.Sprintf("list the tools of %s: %v", e.Server, e.Err) }

// Unwrap returns the cause.
func (e *ToolsError) Unwrap() error { return e.Err }

// RelearnTools lists the tools of a runtime's servers without known tools, and publishes a revision
// for each server that answers. Without such servers it does nothing. It returns the joined errors,
// one *ToolsError per failed server.
func RelearnTools(ctx context.Context, rt *runtime.AgentRuntime) error {
	bundles := rt.Revision().Set().Bundles
	ids := bundles.IDs()
	errs := make([]error, len(ids))
	var running sync.WaitGroup
	for i, id := range ids {
		bundle, _ := bundles.Get(id)
		if live, ok := bundle.Source.(tools.LiveBundle); ok && hasNoCatalog(bundle) {
			running.Go(func() {
				if err := publishTools(ctx, rt, id, live); err != nil {
					errs[i] = &ToolsError{Server: id, Err: err}
				}
			})
		}
	}
	running.Wait()
	return errors.Join(errs...)
}

// hasNoCatalog reports whether a revision lacks a bundle's tools because they were unknown.
func hasNoCatalog(bundle *registry.Bundle) bool {
	return slices.ContainsFunc(bundle.Found, func(d diag.Diagnostic) bool { return d.Code == diag.NoCatalog })
}

// publishTools lists and publishes the tools of one bundle, unless another configuration has
// replaced it meanwhile.
func publishTools(ctx context.Context, rt *runtime.AgentRuntime, id string, live tools.LiveBundle) error {
	if err := refreshBundle(ctx, live, &tools.TenantVariables{Declared: rt.Revision().Set().Tenants}); err != nil {
		return err
	}
	_, err := rt.Publish(ctx, func(d *registry.Draft) error {
		if now, ok := d.Bundles.Get(id); !ok || now.Source != live {
			return errNotIn
		}
		return d.RefreshBundle(id)
	})
	if err != nil && !errors.Is(err, errNotIn) {
		return fmt.Errorf("publish the tools of %s: %w", id, err)
	}
	return nil
}

// refreshBundles lists the bundles that are due and adds their members.
func (b *AgentRuntimeBuilder) refreshBundles(ctx context.Context, due func(tools.LiveBundle) bool) []*BundleError {
	ids := b.set.Bundles.IDs()
	errs := make([]error, len(ids))
	asked := make([]bool, len(ids))
	var running sync.WaitGroup
	for i, id := range ids {
		bundle, _ := b.set.Bundles.Get(id)
		live, ok := bundle.Source.(tools.LiveBundle)
		if asked[i] = ok && due(live); asked[i] {
			running.Go(func() {
				errs[i] = refreshBundle(ctx, live, &tools.TenantVariables{Declared: b.set.Tenants, Source: b.tenant})
			})
		}
	}
	running.Wait()
	var failed []*BundleError
	for i, id := range ids {
		switch {
		case errs[i] != nil:
			failed = append(failed, &BundleError{Bundle: id, Path: b.set.Bundles.Path(id), Err: errs[i]})
		case asked[i]:
			b.addError(b.set.RefreshBundle(id))
		}
	}
	return failed
}

// refreshBundle lists one bundle, with a tenant's variables if it needs any. A panic is an error.
func refreshBundle(ctx context.Context, bundle tools.LiveBundle, tenant *tools.TenantVariables) (err error) {
	defer panics.Recover(&err)
	if of, ok := bundle.(tools.TenantBundle); ok {
		return of.RefreshFor(ctx, tenant)
	}
	return bundle.Refresh(ctx)
}

// Close closes the components that the builder made, if its runtime is not built or not closed
// itself. Adopted components stay open.
func (b *AgentRuntimeBuilder) Close() error {
	if b.base != nil {
		return b.set.CloseOwn(b.base.Set())
	}
	return b.set.Close()
}

// errNotIn is returned if the runtime no longer has the bundle.
var errNotIn = errors.New("the bundle is gone")

// publishOnChange makes a runtime publish a revision whenever a bundle's tools change. Bundles of
// the base revision are already watched.
func (b *AgentRuntimeBuilder) publishOnChange(rt *runtime.AgentRuntime) {
	for id, bundle := range b.set.Bundles.All() {
		live, ok := bundle.Source.(tools.LiveBundle)
		if !ok || b.isOfBase(id, bundle) {
			continue
		}
		logger := b.logger.Named("tool." + id)
		live.OnChange(func(ctx context.Context) {
			rev, err := rt.Publish(ctx, func(d *registry.Draft) error {
				if _, ok := d.Bundles.Get(id); !ok {
					return errNotIn
				}
				return d.RefreshBundle(id)
			})
			switch {
			case err == nil:
				logger.Info("tools changed", zap.Uint64("revision", rev.Number()))
			case ctx.Err() == nil && !errors.Is(err, errNotIn):
				logger.Warn("publishing changed tools failed", zap.Error(err))
			}
		})
	}
}

// isOfBase reports whether a bundle is the base revision's.
func (b *AgentRuntimeBuilder) isOfBase(id string, bundle *registry.Bundle) bool {
	if b.base == nil {
		return false
	}
	known, ok := b.base.Set().Bundles.Get(id)
	return ok && known == bundle
}
