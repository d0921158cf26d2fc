package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// overlayBase is an acquired revision that tenants' overlays build on.
type overlayBase struct {
	hash   string
	rev    *registry.Revision
	config *config.TenantBase
}

// seenBy returns the base as seen by a tenant's overlays.
func (b *overlayBase) seenBy(tenant string) *config.TenantBase {
	var ids []string
	for id := range b.rev.Set().Workflows.All() {
		if belongsTo(b.rev.Set(), id, tenant) {
			ids = append(ids, id)
		}
	}
	return b.config.SeenWith(ids)
}

// belongsTo reports whether a set has a workflow of a tenant.
func belongsTo(set *registry.Set, id, tenant string) bool {
	w, ok := set.Workflows.Get(id)
	if !ok {
		return false
	}
	owner, _ := w.Owner()
	return owner == tenant
}

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
