package fleet

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/store"
)

// Record stores the document from which a revision of the runtime was built, so that turns that
// begin in it find it.
func (f *Builds) Record(ctx context.Context, rev *registry.Revision) error {
	build := rev.Hash()
	if made, ok := rev.Derived(madeOfKey{}); ok {
		return f.recordTenant(ctx, rev, made.(madeOf)) //nolint:forcetypeassert // only this package stores it
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recorded == build {
		return nil
	}
	if document := rev.Set().Document; document != "" && f.isDeclared(document, rev.Set()) {
		components, err := encodeComponents(rev.Set())
		if err == nil {
			err = f.settings.Store.AddRevisionBuild(ctx, store.RevisionBuild{
				Build: build, Hash: document, Components: components, BuiltAt: f.settings.Clock(),
			})
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) { // the document could not be stored
			return err
		}
	}
	f.recorded = build
	return nil
}

// isDeclared reports whether a set equals the declarations of a document. A program can change
// the revision itself.
func (f *Builds) isDeclared(document string, set *registry.Set) bool {
	declared := set.DeclaredHash()
	known, ok := f.declared[document]
	if !ok {
		f.declared[document] = declared
		return true
	}
	return known == declared
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
