package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// revisionTable has the published revisions.
type revisionTable struct {
	// published are the revisions of each tenant, newest last.
	published map[string][]*store.Revision
	builds    map[string]store.RevisionBuild
	attempts  []store.RevisionAttempt
	// held are the bases of tenants that stay over a base other than the current one.
	held map[string]string
	// withWorkflows are the tenants whose overlays have workflows.
	withWorkflows map[string]bool
}

// currentRevision returns the most recently published revision of a tenant, or nil.
func (t *revisionTable) currentRevision(tenant string) *store.Revision {
	list := t.published[tenant]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// findRevision returns the latest revision with a hash, or nil.
func (t *revisionTable) findRevision(tenant, hash string) *store.Revision {
	for _, r := range slices.Backward(t.published[tenant]) {
		if r.Hash == hash {
			return r
		}
	}
	return nil
}

// PublishRevision makes a document current.
func (m *Store) PublishRevision(ctx context.Context, p *store.PublishRevision) (published *store.Revision, err error) {
	if err := p.CheckText(); err != nil {
		return nil, err
	}
	err = m.withLock(ctx, func() error {
		if err := m.checkOverlays(p); err != nil {
			return err
		}
		r, isNew, err := rules.NextRevision(p, m.currentRevision(p.Revision.Tenant))
		if err != nil {
			return err
		}
		m.holdOverlays(p)
		r = copyRevision(r)
		if isNew {
			if m.published == nil {
				m.published = make(map[string][]*store.Revision)
			}
			m.published[r.Tenant] = append(m.published[r.Tenant], r)
		}
		if a := p.AttemptOf(isNew); a != nil {
			m.addAttempt(*a)
		}
		published = copyRevision(r)
		return nil
	})
	return published, err
}

// checkOverlays reports changes since a base, or an overlay, was proven.
func (m *Store) checkOverlays(p *store.PublishRevision) error {
	base := ""
	if r := m.currentRevision(""); r != nil {
		base = r.Hash
	}
	if err := rules.CheckBase(p, base); err != nil {
		return err
	}
	return rules.CheckMark(p, m.overlayMark())
}

// holdOverlays records which tenants stay over another base.
func (m *Store) holdOverlays(p *store.PublishRevision) {
	if tenant := p.Revision.Tenant; tenant != "" {
		delete(m.held, tenant)
		if m.withWorkflows == nil {
			m.withWorkflows = make(map[string]bool)
		}
		if delete(m.withWorkflows, tenant); p.HasWorkflows {
			m.withWorkflows[tenant] = true
		}
	}
	if p.Proven == nil {
		return
	}
	m.held = make(map[string]string, len(p.Proven.Held))
	for _, h := range p.Proven.Held {
		m.held[h.Tenant] = h.Base
	}
}

// overlayMark returns the sum of the numbers of all tenants.
func (t *revisionTable) overlayMark() (mark uint64) {
	for tenant := range t.published {
		if r := t.currentRevision(tenant); tenant != "" && r != nil {
			mark += r.Number
		}
	}
	return mark
}

// Overlay returns the current state of a tenant.
func (m *Store) Overlay(ctx context.Context, tenant string) (state store.OverlayState, err error) {
	err = m.withLock(ctx, func() error {
		if r := m.currentRevision(tenant); r != nil {
			state = store.OverlayState{Hash: r.Hash, Base: m.held[tenant]}
		}
		return nil
	})
	return state, err
}

// Overlays returns a page of the tenants with revisions.
func (m *Store) Overlays(ctx context.Context, q store.OverlayQuery) (page store.OverlayPage, err error) {
	err = m.withLock(ctx, func() error {
		var list []*store.Revision
		for _, tenant := range slices.Sorted(maps.Keys(m.published)) {
			if r := m.currentRevision(tenant); tenant > q.After && r != nil && len(list) <= q.Size() {
				list = append(list, copyRevision(r))
			}
		}
		page = rules.CutOverlays(list, &q)
		return nil
	})
	return page, err
}

// WorkflowOverlays returns the tenants whose workflows differ from the current base.
func (m *Store) WorkflowOverlays(ctx context.Context, after string, limit int) (list []store.TenantOverlay, err error) {
	err = m.withLock(ctx, func() error {
		tenants := slices.AppendSeq(slices.Collect(maps.Keys(m.withWorkflows)), maps.Keys(m.held))
		slices.Sort(tenants)
		for _, tenant := range slices.Compact(tenants) {
			if r := m.currentRevision(tenant); tenant > after && r != nil && len(list) < limit {
				list = append(list, store.TenantOverlay{Tenant: tenant, OverlayState: store.OverlayState{Hash: r.Hash, Base: m.held[tenant]}})
			}
		}
		return nil
	})
	return list, err
}

// OverlayMark returns a number that grows whenever a tenant publishes.
func (m *Store) OverlayMark(ctx context.Context) (mark uint64, err error) {
	err = m.withLock(ctx, func() error {
		mark = m.overlayMark()
		return nil
	})
	return mark, err
}

// CurrentRevision returns the most recently published revision.
func (m *Store) CurrentRevision(ctx context.Context, tenant string) (found *store.Revision, err error) {
	err = m.withLock(ctx, func() error {
		if found = copyRevision(m.currentRevision(tenant)); found == nil {
			return store.ErrNotFound
		}
		return nil
	})
	return found, err
}

// CurrentHash returns the hash of the current revision.
func (m *Store) CurrentHash(ctx context.Context, tenant string) (hash string, err error) {
	err = m.withLock(ctx, func() error {
		if r := m.currentRevision(tenant); r != nil {
			hash = r.Hash
		}
		return nil
	})
	return hash, err
}

// Revision returns the latest revision with a hash.
func (m *Store) Revision(ctx context.Context, tenant, hash string) (found *store.Revision, err error) {
	err = m.withLock(ctx, func() error {
		if found = copyRevision(m.findRevision(tenant, hash)); found == nil {
			return store.ErrNotFound
		}
		return nil
	})
	return found, err
}

// Revisions returns a page of revisions, newest first.
func (m *Store) Revisions(ctx context.Context, q store.RevisionQuery) (page store.RevisionPage, err error) {
	below, err := q.Page.Place()
	if err != nil {
		return page, err
	}
	err = m.withLock(ctx, func() error {
		for _, r := range slices.Backward(m.published[q.Tenant]) {
			if r.Number < uint64(below) && len(page.Revisions) <= q.Page.Size() {
				r = copyRevision(r)
				r.Document = nil
				page.Revisions = append(page.Revisions, r)
			}
		}
		return nil
	})
	page.Revisions, page.Next = rules.CutPage(page.Revisions, q.Page, func(r *store.Revision) store.Cursor {
		return rules.NumberCursor(r.CreatedAt, int64(r.Number))
	})
	return page, err
}

// AddRevisionBuild stores a build.
func (m *Store) AddRevisionBuild(ctx context.Context, b store.RevisionBuild) error {
	if err := b.CheckText(); err != nil {
		return err
	}
	b.Components, b.BuiltAt = slices.Clone(b.Components), truncateTime(b.BuiltAt)
	return m.withLock(ctx, func() error {
		if m.findRevision(b.Tenant, b.Hash) == nil {
			return store.ErrNotFound
		}
		if m.builds == nil {
			m.builds = make(map[string]store.RevisionBuild)
		}
		m.builds[b.Build] = b
		return nil
	})
}

// BuiltRevision returns a build and its revision.
func (m *Store) BuiltRevision(ctx context.Context, build string) (found *store.RevisionBuild, r *store.Revision, err error) {
	err = m.withLock(ctx, func() error {
		b, ok := m.builds[build]
		if r = copyRevision(m.findRevision(b.Tenant, b.Hash)); !ok || r == nil {
			return store.ErrNotFound
		}
		b.Components = slices.Clone(b.Components)
		found = &b
		return nil
	})
	return found, r, err
}

// AddRevisionAttempt stores an attempt.
func (m *Store) AddRevisionAttempt(ctx context.Context, a store.RevisionAttempt) error {
	if err := a.CheckText(); err != nil {
		return err
	}
	return m.withLock(ctx, func() error {
		m.addAttempt(a)
		return nil
	})
}

func (t *revisionTable) addAttempt(a store.RevisionAttempt) {
	a.Findings, a.At = slices.Clone(a.Findings), truncateTime(a.At)
	a.Seq = uint64(len(t.attempts)) + 1
	t.attempts = append(t.attempts, a)
}

// RevisionAttempts returns a page of attempts, newest first.
func (m *Store) RevisionAttempts(ctx context.Context, q store.RevisionQuery) (page store.RevisionAttemptPage, err error) {
	below, err := q.Page.Place()
	if err != nil {
		return page, err
	}
	err = m.withLock(ctx, func() error {
		for _, a := range slices.Backward(m.attempts) {
			if a.Tenant == q.Tenant && a.Seq < uint64(below) && len(page.Attempts) <= q.Page.Size() {
				a.Findings = slices.Clone(a.Findings)
				page.Attempts = append(page.Attempts, a)
			}
		}
		return nil
	})
	page.Attempts, page.Next = rules.CutPage(page.Attempts, q.Page, func(a store.RevisionAttempt) store.Cursor {
		return rules.NumberCursor(a.At, int64(a.Seq))
	})
	return page, err
}

// pruneRevisions deletes revisions that are not current and in which no live turn or run began.
func (m *Store) pruneRevisions(_ context.Context, c rules.Cutoff) (n int, err error) {
	type document struct{ tenant, hash string }
	live := make(map[document]bool)
	m.eachLiveRevision(func(hash string) {
		if b, ok := m.builds[hash]; ok {
			live[document{b.Tenant, b.Hash}] = true
			live[document{"", b.Base}] = true
		}
	})
	for _, base := range m.held {
		live[document{"", base}] = true
	}
	for tenant, list := range m.published {
		current := list[len(list)-1]
		m.published[tenant] = slices.DeleteFunc(list, func(r *store.Revision) bool {
			old := n < c.Limit && r != current && r.CreatedAt.Before(c.Before) && !live[document{tenant, r.Hash}]
			if old {
				n++
			}
			return old
		})
	}
	for build, b := range m.builds {
		if m.findRevision(b.Tenant, b.Hash) == nil {
			delete(m.builds, build)
		}
	}
	return n, nil
}

func copyRevision(r *store.Revision) *store.Revision {
	if r == nil {
		return nil
	}
	c := *r
	c.Document, c.Findings = slices.Clone(r.Document), slices.Clone(r.Findings)
	return &c
}
