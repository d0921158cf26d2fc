package fleet

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// DefaultTenantCache is the number of tenants cached by a process if neither the configuration nor
// the settings specify it.
const DefaultTenantCache = 256

// tenantCache holds the revisions of the most recently used tenants.
type tenantCache struct {
	size int
	// generation grows with each published change, which invalidates earlier lookups.
	generation atomic.Uint64
	// mark is the number of tenant publications known to the follower.
	mark atomic.Uint64

	// swept is the number of the runtime's revision for which releaseReplaced was called.
	swept atomic.Uint64

	mu     sync.Mutex
	closed bool
	// byName holds the elements of used, each a *cachedTenant, most recently used first.
	byName map[string]*list.Element
	used   list.List
}

// cachedTenant is the cached state of a tenant. Only the holder of busy may use it.
type cachedTenant struct {
	name string
	busy chan struct{}
	// state is the store's state at checked, in a generation of the cache.
	state      store.OverlayState
	checked    time.Time
	generation uint64
	// rev is the tenant's revision, retained, over the runtime's revision or an older base. It is
	// nil for a tenant without an overlay, or before it is built.
	rev  *registry.Revision
	over *registry.Revision
	// dropped is set once the entry has left the cache.
	dropped atomic.Bool
}

// resize sets the maximum number of entries.
func (c *tenantCache) resize(size int) {
	c.mu.Lock()
	c.size = size
	dropped := c.dropOldest()
	c.mu.Unlock()
	for _, old := range dropped {
		old.drop()
	}
}

// dropOldest removes the entries that exceed the cache size.
func (c *tenantCache) dropOldest() (dropped []*cachedTenant) {
	for c.used.Len() > c.size {
		old := c.used.Remove(c.used.Back()).(*cachedTenant) //nolint:forcetypeassert // the list has these alone
		delete(c.byName, old.name)
		dropped = append(dropped, old)
	}
	return dropped
}

// find returns the entry of a tenant, exclusively for the caller until done is called.
func (c *tenantCache) find(ctx context.Context, name string) (t *cachedTenant, done func(), err error) {
	for {
		t, dropped, err := c.findEntry(name)
		if err != nil {
			return nil, nil, err
		}
		for _, old := range dropped {
			old.drop()
		}
		select {
		case t.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if !t.dropped.Load() {
			return t, t.done, nil
		}
		t.done()
	}
}

// findEntry returns the entry of a tenant, and the entries evicted to make room.
func (c *tenantCache) findEntry(name string) (t *cachedTenant, dropped []*cachedTenant, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, errors.New("the fleet is closed")
	}
	if at, ok := c.byName[name]; ok {
		c.used.MoveToFront(at)
		return at.Value.(*cachedTenant), nil, nil //nolint:forcetypeassert // the list has these alone
	}
	if c.byName == nil {
		c.byName = make(map[string]*list.Element)
	}
	t = &cachedTenant{name: name, busy: make(chan struct{}, 1)}
	c.byName[name] = c.used.PushFront(t)
	return t, c.dropOldest(), nil
}

// drop releases an entry's contents, now or when its user is done.
func (t *cachedTenant) drop() {
	t.dropped.Store(true)
	select {
	case t.busy <- struct{}{}:
		t.release()
		<-t.busy
	default:
	}
}

// done releases the entry for other callers.
func (t *cachedTenant) done() {
	<-t.busy
	if t.dropped.Load() {
		t.drop()
	}
}

// release releases the tenant's revision.
func (t *cachedTenant) release() {
	if t.rev != nil {
		t.rev.Release()
	}
	t.rev, t.over = nil, nil
}

// releaseReplaced releases tenants' revisions over earlier bases than the current one, whose
// components would otherwise stay open until the tenant is used. Entries in use detect it
// themselves.
func (c *tenantCache) releaseReplaced(current *registry.Revision) {
	if number := current.Number(); c.swept.Load() == number || c.swept.Swap(number) == number {
		return
	}
	c.mu.Lock()
	var all []*cachedTenant
	for at := c.used.Front(); at != nil; at = at.Next() {
		all = append(all, at.Value.(*cachedTenant)) //nolint:forcetypeassert // the list has these alone
	}
	c.mu.Unlock()
	for _, t := range all {
		select {
		case t.busy <- struct{}{}:
			if t.over != current && t.state.Base == "" {
				t.release()
			}
			t.done()
		default:
		}
	}
}

// close releases all entries and disables the cache.
func (c *tenantCache) close() {
	c.mu.Lock()
	c.closed = true
	var all []*cachedTenant
	for at := c.used.Front(); at != nil; at = at.Next() {
		all = append(all, at.Value.(*cachedTenant)) //nolint:forcetypeassert // the list has these alone
	}
	c.used.Init()
	c.byName = nil
	c.mu.Unlock()
	for _, t := range all {
		t.drop()
	}
}

// AnyTenants reports whether tenants may have overlays, so that the revision of a new turn depends
// on its tenant.
func (f *Builds) AnyTenants() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file != nil && f.file.TenantRules.HasOverlays()
}

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

func (f *Builds) endOverlaid(made *overlaid, base *overlayBase) {
	if err := made.close(); err != nil {
		f.settings.Logger.Warn("closing components of a tenant failed", zap.Error(err))
	}
	base.rev.Release()
}

// makeTenantBuild rebuilds a tenant's revision for turns that began in it.
func (f *Builds) makeTenantBuild(ctx context.Context, r *rebuilt, baseHash string, revision *Revision, known *components) (end func(), err error) {
	base, err := f.acquireBase(ctx, baseHash)
	if err != nil {
		return nil, err
	}
	made, err := f.applyOverlay(ctx, base, revision.Tenant, revision.Document)
	if err != nil {
		base.rev.Release()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: revision %d of the tenant cannot be built any more: %w", service.ErrRevisionGone, revision.Number, err)
	}
	if missing := known.missingFrom(made.rev.Set()); len(missing.Tools) > 0 {
		f.endOverlaid(made, base)
		return nil, fmt.Errorf("%w: the program does not have the tools any more: %s", service.ErrRevisionGone, strings.Join(missing.Tools, ", "))
	}
	r.rev = made.rev
	return func() { f.endOverlaid(made, base) }, nil
}

// recordedKey is the key under which a tenant's revision notes that the store has its build.
type recordedKey struct{}

// recordTenant stores the inputs of a tenant's revision.
func (f *Builds) recordTenant(ctx context.Context, rev *registry.Revision, made madeOf) error {
	done := rev.Derive(recordedKey{}, func() any { return new(atomic.Bool) }).(*atomic.Bool) //nolint:forcetypeassert // stored here alone
	if done.Load() {
		return nil
	}
	components, err := encodeComponents(rev.Set())
	if err == nil {
		err = f.settings.Store.AddRevisionBuild(ctx, store.RevisionBuild{
			Build: rev.Hash(), Tenant: made.tenant, Hash: made.overlay, Base: made.base, Components: components, BuiltAt: f.settings.Clock(),
		})
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	done.Store(true)
	return nil
}
