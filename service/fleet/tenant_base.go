package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// ErrNoTenants reports that the base does not allow tenant overlays.
var ErrNoTenants = config.ErrNoTenants

// overlayBase is an acquired revision that tenants' overlays build on.
type overlayBase struct {
	hash   string
	rev    *registry.Revision
	config *config.TenantBase
}

// documentName is the name of a revision's document. It is also the base of its relative paths.
func (c *core) documentName() string { return filepath.Join(c.settings.Dir, "document") }

// readBase returns the overlays' view of the base with a hash. It reads the base once.
func (f *Builds) readBase(ctx context.Context, hash string) (*config.TenantBase, error) {
	f.mu.Lock()
	known, file := f.bases[hash], f.file
	f.mu.Unlock()
	if known != nil {
		return known, nil
	}
	document, err := file.Document()
	if err != nil || config.HashDocument(document) != hash {
		r, err := f.settings.Store.Revision(ctx, "", hash)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("%w: the store does not have the base", service.ErrRevisionGone)
		}
		if err != nil {
			return nil, err
		}
		document = r.Document
		file, _ = config.Parse([]config.Source{{Name: f.documentName(), Data: document}}, f.settings.Config)
	}
	base, err := config.NewTenantBase(file, f.documentName(), document)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.bases) >= maxBuilds {
		clear(f.bases)
	}
	f.bases[hash] = base
	return base, nil
}

// acquireBase returns the base with a hash; empty means the running one. The caller releases it.
func (f *Builds) acquireBase(ctx context.Context, hash string) (*overlayBase, error) {
	rev := f.settings.Runtime.AcquireRevision()
	if hash != "" && hash != rev.Set().Document {
		rev.Release()
		built, err := f.rebuild(ctx, service.PublishedBuild(hash))
		if err != nil {
			return nil, err
		}
		if !built.rev.Retain() { // dropped in the meantime
			return f.acquireBase(ctx, hash)
		}
		rev = built.rev
	}
	b := &overlayBase{hash: rev.Set().Document, rev: rev}
	var err error
	if b.hash == "" {
		err = ErrNotStored
	} else {
		b.config, err = f.readBase(ctx, b.hash)
	}
	if err != nil {
		rev.Release()
		return nil, err
	}
	return b, nil
}
