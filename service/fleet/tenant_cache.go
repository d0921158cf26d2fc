package fleet

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/store"
)

// defaultTenantCache is the number of tenants cached by a process if neither the configuration nor
// the settings specify it.
const defaultTenantCache = 256

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

// entries returns all entries.
func (c *tenantCache) entries() (all []*cachedTenant) {
	for at := c.used.Front(); at != nil; at = at.Next() {
		all = append(all, at.Value.(*cachedTenant)) //nolint:forcetypeassert // the list has these alone
	}
	return all
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
	all := c.entries()
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
	all := c.entries()
	c.used.Init()
	c.byName = nil
	c.mu.Unlock()
	for _, t := range all {
		t.drop()
	}
}
