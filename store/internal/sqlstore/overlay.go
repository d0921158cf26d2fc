package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// overlayMark returns how many times tenants have published.
func overlayMark(ctx context.Context, s Session) (uint64, error) {
	return FindValue[uint64](ctx, s, "SELECT mark FROM overlay_changes WHERE id = 1")
}

// checkOverlays reports changes since a base, or an overlay, was proven.
func checkOverlays(ctx context.Context, s Session, p *store.PublishRevision) error {
	if p.Revision.Tenant != "" && p.Base != "" {
		base, err := currentHash(ctx, s, "")
		if err != nil {
			return err
		}
		return rules.CheckBase(p, base)
	}
	if p.Proven == nil {
		return nil
	}
	mark, err := overlayMark(ctx, s)
	if err != nil {
		return err
	}
	return rules.CheckMark(p, mark)
}

// holdOverlays records which tenants stay over another base.
func holdOverlays(ctx context.Context, s Session, p *store.PublishRevision) error {
	if p.Revision.Tenant != "" {
		return noteOverlay(ctx, s, p)
	}
	if p.Proven == nil {
		return nil
	}
	_, err := s.Exec(ctx, "DELETE FROM held_overlays")
	for _, h := range p.Proven.Held {
		if err == nil {
			_, err = s.Exec(ctx, "INSERT INTO held_overlays (tenant, base) VALUES ($1, $2)", h.Tenant, h.Base)
		}
	}
	return err
}

// noteOverlay records that a tenant publishes over the current base.
func noteOverlay(ctx context.Context, s Session, p *store.PublishRevision) error {
	workflows := "DELETE FROM workflow_overlays WHERE tenant = $1"
	if p.HasWorkflows {
		workflows = "INSERT INTO workflow_overlays (tenant) VALUES ($1) ON CONFLICT (tenant) DO NOTHING"
	}
	for _, statement := range []string{"DELETE FROM held_overlays WHERE tenant = $1", workflows} {
		if _, err := s.Exec(ctx, statement, p.Revision.Tenant); err != nil {
			return err
		}
	}
	_, err := s.Exec(ctx, "INSERT INTO overlay_changes (id, mark) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET mark = overlay_changes.mark + 1")
	return err
}

// Overlay returns the current state of a tenant.
func (r *revisionRecords) Overlay(ctx context.Context, tenant string) (state store.OverlayState, err error) {
	if state.Hash, err = r.CurrentHash(ctx, tenant); err != nil || state.Hash == "" {
		return state, err
	}
	state.Base, err = FindValue[string](ctx, r.db.Reader, "SELECT base FROM held_overlays WHERE tenant = $1", tenant)
	return state, r.db.WrapError("read", "the base of a tenant", err)
}

// Overlays returns a page of the tenants with revisions.
func (r *revisionRecords) Overlays(ctx context.Context, q store.OverlayQuery) (store.OverlayPage, error) {
	list, err := CollectRecords(ctx, r.db.Reader, fullRevisionFields, fullRevision+" WHERE r.tenant > $1 AND "+isCurrent+" ORDER BY r.tenant LIMIT $2", q.After, int64(q.Size()+1))
	if err != nil {
		return store.OverlayPage{}, r.db.WrapError("list", "the overlays of tenants", err)
	}
	return rules.CutOverlays(list, &q), nil
}

// WorkflowOverlays returns the tenants whose workflows differ from the current base.
func (r *revisionRecords) WorkflowOverlays(ctx context.Context, after string, limit int) ([]store.TenantOverlay, error) {
	fields := func(o *store.TenantOverlay) []any { return []any{&o.Tenant, &o.Hash, &o.Base} }
	list, err := CollectRows(ctx, r.db.Reader, fields, `SELECT r.tenant, r.hash, COALESCE((SELECT h.base FROM held_overlays h WHERE h.tenant = r.tenant), '') FROM revisions r
		WHERE r.tenant IN (SELECT w.tenant FROM workflow_overlays w WHERE w.tenant > $1 UNION SELECT h.tenant FROM held_overlays h WHERE h.tenant > $1)
		AND `+isCurrent+" ORDER BY r.tenant LIMIT $2", after, int64(limit))
	return list, r.db.WrapError("list", "the overlays with workflows", err)
}

// OverlayMark returns a number that grows whenever a tenant publishes.
func (r *revisionRecords) OverlayMark(ctx context.Context) (uint64, error) {
	mark, err := overlayMark(ctx, r.db.Reader)
	return mark, r.db.WrapError("read", "how often tenants have published", err)
}
