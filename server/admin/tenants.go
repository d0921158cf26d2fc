package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

var (
	_ configuration = (*fleet.Fleet)(nil)
	_ configuration = (*fleet.Tenant)(nil)
)

// TenantOverlay is the current overlay of a tenant.
type TenantOverlay struct {
	Tenant    string    `json:"tenant"`
	Number    uint64    `json:"number"`
	Hash      string    `json:"hash"`
	Author    string    `json:"author"`
	CreatedAt time.Time `json:"created_at"`
}

// TenantList is a page of tenants with overlays.
type TenantList struct {
	Tenants []TenantOverlay `json:"tenants"`
	// Next is the after of the next page; empty for the last.
	Next string `json:"next,omitempty"`
}

func (s *Surface) listTenants(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*TenantList, error) {
	page, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	out := &TenantList{Tenants: []TenantOverlay{}}
	if !caller.HasScope(settings.ScopeConfigRead) {
		own, err := s.fleet.Tenant(caller.Tenant).Revisions(ctx, fleet.Page{Limit: 1})
		if err == nil && len(own.Revisions) > 0 && page.After < caller.Tenant {
			out.Tenants = append(out.Tenants, overlayOf(own.Revisions[0]))
		}
		return out, err
	}
	found, next, err := s.fleet.Tenants(ctx, page.After, page.Limit)
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		out.Tenants = append(out.Tenants, overlayOf(one))
	}
	out.Next = next
	return out, nil
}

func overlayOf(r *fleet.Revision) TenantOverlay {
	return TenantOverlay{Tenant: r.Tenant, Number: r.Number, Hash: r.Hash, Author: r.Author, CreatedAt: r.CreatedAt}
}

// currentOverlay is the current revision of a tenant with its document.
type currentOverlay struct {
	Revision

	// HeldOver is the hash of the base that the tenant stays over, because its overlay
	// does not resolve over the current one.
	HeldOver string `json:"held_over,omitempty"`
}

func (s *Surface) readTenant(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*currentOverlay, error) {
	t, err := s.tenantOf(caller, r)
	if err != nil {
		return nil, err
	}
	current, err := t.Current(ctx)
	if err != nil {
		return nil, refuse(err)
	}
	held, err := t.HeldOver(ctx)
	return &currentOverlay{*s.wholeRevision(current, current.Number), held}, err
}

// TenantsProof is the result of proving tenants' overlays over a new base.
type TenantsProof struct {
	Checked int             `json:"checked"`
	Broken  []BrokenTenant  `json:"broken"`
	Changed []ChangedTenant `json:"changed"`
}

// ChangedTenant is a tenant affected by the new base: its agents' losses and gains, and the new
// warnings of its overlay.
type ChangedTenant struct {
	Tenant   string              `json:"tenant"`
	Diff     *resolve.DiffReport `json:"diff"`
	Warnings []diag.Diagnostic   `json:"warnings"`
}

// BrokenTenant is a tenant whose overlay does not resolve over the new base.
type BrokenTenant struct {
	Tenant   string            `json:"tenant"`
	Findings []diag.Diagnostic `json:"findings"`
}

func tenantsProofOf(p *fleet.TenantsProof) *TenantsProof {
	if p == nil {
		return nil
	}
	out := &TenantsProof{Checked: p.Checked, Broken: []BrokenTenant{}, Changed: []ChangedTenant{}}
	for i := range p.Changed {
		c := &p.Changed[i]
		out.Changed = append(out.Changed, ChangedTenant{c.Tenant, c.Diff, append([]diag.Diagnostic{}, c.Warnings...)})
	}
	for i := range p.Broken {
		out.Broken = append(out.Broken, BrokenTenant{p.Broken[i].Tenant, p.Broken[i].Findings})
	}
	return out
}
