package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service"
)

// AcquireTenant returns the revision in which a tenant's turns begin: its overlay over the base, or
// the base itself for a tenant without an overlay. The caller releases it. The error wraps
// service.ErrRevisionGone if the overlay does not resolve.
func (f *Builds) AcquireTenant(ctx context.Context, tenant string) (*registry.Revision, error) {
	if tenant == "" || !f.AnyTenants() {
		return f.settings.Runtime.AcquireRevision(), nil
	}
	t, done, err := f.tenants.find(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := f.refreshTenant(ctx, t); err != nil {
		return nil, err
	}
	current := f.settings.Runtime.AcquireRevision()
	f.tenants.releaseReplaced(current)
	if t.state.Hash == "" {
		t.release()
		return current, nil
	}
	if t.rev != nil && (t.over == current || t.state.Base != "" && t.state.Base != current.Set().Document) && t.rev.Retain() {
		current.Release()
		return t.rev, nil
	}
	current.Release()
	t.release()
	if err := f.makeTenant(ctx, t); err != nil {
		return nil, err
	}
	t.rev.Retain()
	return t.rev, nil
}

// refreshTenant looks up a tenant's current state, unless it did so within the last second and
// nothing has been published since.
func (f *Builds) refreshTenant(ctx context.Context, t *cachedTenant) error {
	now, generation := f.settings.Clock(), f.tenants.generation.Load()
	if !t.checked.IsZero() && t.generation == generation && now.Sub(t.checked) < pollInterval && !now.Before(t.checked) {
		return nil
	}
	state, err := f.settings.Store.Overlay(ctx, t.name)
	if err != nil {
		return err
	}
	if state != t.state {
		t.release()
	}
	t.state, t.checked, t.generation = state, now, generation
	return nil
}

// makeTenant builds a tenant's revision.
func (f *Builds) makeTenant(ctx context.Context, t *cachedTenant) error {
	base, err := f.acquireBase(ctx, t.state.Base)
	if err != nil {
		return err
	}
	r, err := f.settings.Store.Revision(ctx, t.name, t.state.Hash)
	var made *overlaid
	if err == nil {
		made, err = f.applyOverlay(ctx, base, t.name, r.Document)
	}
	if err != nil {
		base.rev.Release()
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			return fmt.Errorf("%w: the overlay of the tenant does not resolve: %w", service.ErrRevisionGone, invalid)
		}
		return err
	}
	t.rev, t.over = f.keepOverlaid(made, base), base.rev
	return nil
}

// keepOverlaid returns the revision built for an overlay, retained. Once it is unused, it is closed
// and the base released.
func (f *Builds) keepOverlaid(made *overlaid, base *overlayBase) *registry.Revision {
	made.rev.Retain()
	made.rev.EndAfterUsers(func() { f.list.closing.Go(func() { f.endOverlaid(made, base) }) })
	return made.rev
}
