package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// configuration is the base, or the overlay of a tenant.
type configuration interface {
	Revisions(ctx context.Context, page fleet.Page) (fleet.RevisionPage, error)
	Attempts(ctx context.Context, page fleet.Page) (fleet.AttemptPage, error)
	Revision(ctx context.Context, hash string) (*fleet.Revision, error)
	Publish(ctx context.Context, c *fleet.Change) (*fleet.Published, error)
	Patches(ctx context.Context) ([]fleet.Patch, *fleet.Revision, error)
	Patch(ctx context.Context, registry, id string) (*fleet.Patch, *fleet.Revision, error)
	PublishPatch(ctx context.Context, c *fleet.PatchChange) (*fleet.Published, error)
	Rollback(ctx context.Context, hash string, c *fleet.Change) (*fleet.Published, error)
	Diff(ctx context.Context, from, to string) (*resolve.DiffReport, error)
	Validate(ctx context.Context, document []byte) (diag.List, *resolve.DiffReport, error)
	Diagnostics(ctx context.Context) (diag.List, error)
	Explain(ctx context.Context, agentID string) (json.RawMessage, error)
	ExplainCall(ctx context.Context, agentID, tool string, arguments json.RawMessage) (json.RawMessage, error)
}

var (
	_ configuration = (*fleet.Fleet)(nil)
	_ configuration = (*fleet.Tenant)(nil)
)

// tenantRoutes returns the routes for tenants' overlays.
func (s *Surface) tenantRoutes() []server.Route {
	const read, write = settings.ScopeOwnConfigRead, settings.ScopeOwnConfigWrite
	const at = Prefix + "/tenants"
	routes := []server.Route{
		server.Handle("GET "+at, read, forAllAgents(s.listTenants)).WithQuery(pageQueryNames...),
		server.Handle("GET "+at+"/{tenant}", read, forAllAgents(s.readTenant)),
	}
	return append(routes, s.historyRoutes(at+"/{tenant}", read, write)...)
}

// tenantOf returns the tenant in a request's path. A tenant other than the caller's looks unknown,
// unless the caller may see all of them.
func (s *Surface) tenantOf(caller service.Caller, r *http.Request) (*fleet.Tenant, error) {
	name := r.PathValue("tenant")
	wide := settings.ScopeConfigRead
	if r.Method != http.MethodGet && !strings.HasSuffix(r.Pattern, "/validate") && !strings.HasSuffix(r.Pattern, "/check-call") {
		wide = settings.ScopeConfigWrite
	}
	if name != caller.Tenant && !caller.HasScope(wide) {
		return nil, &service.NotFoundError{Kind: "tenants", ID: name}
	}
	return s.fleet.Tenant(name), nil
}

// configurationOf returns the configuration in a request's path: a tenant's overlay, or else the
// base.
func (s *Surface) configurationOf(caller service.Caller, r *http.Request) (configuration, error) {
	if r.PathValue("tenant") == "" {
		return s.fleet, nil
	}
	return s.tenantOf(caller, r)
}

// currentNumber returns the number of the current revision; 0 for none.
func currentNumber(ctx context.Context, of configuration) (uint64, error) {
	switch of := of.(type) {
	case *fleet.Fleet:
		return of.Running().Number, nil
	case *fleet.Tenant:
		page, err := of.Revisions(ctx, fleet.Page{Limit: 1})
		if err != nil || len(page.Revisions) == 0 {
			return 0, err
		}
		return page.Revisions[0].Number, nil
	default:
		return 0, nil
	}
}

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
	found, err := s.fleet.Tenants(ctx, fleet.TenantQuery{After: page.After, Limit: page.Limit})
	if err != nil {
		return nil, err
	}
	for _, one := range found.Tenants {
		out.Tenants = append(out.Tenants, overlayOf(one))
	}
	out.Next = found.Next
	return out, nil
}

func overlayOf(r *fleet.Revision) TenantOverlay {
	return TenantOverlay{Tenant: r.Tenant, Number: r.Number, Hash: r.Hash, Author: r.Author, CreatedAt: r.CreatedAt}
}

// CurrentOverlay is the current revision of a tenant with its document.
type CurrentOverlay struct {
	Revision

	// HeldOver is the hash of the base that the tenant stays over, because its overlay
	// does not resolve over the current one.
	HeldOver string `json:"held_over,omitempty"`
}

func (s *Surface) readTenant(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*CurrentOverlay, error) {
	t, err := s.tenantOf(caller, r)
	if err != nil {
		return nil, err
	}
	current, err := t.Current(ctx)
	if err != nil {
		return nil, refuse(err)
	}
	held, err := t.HeldOver(ctx)
	return &CurrentOverlay{*s.wholeRevision(current, current.Number), held}, err
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

func tenantNames(list []fleet.BrokenTenant) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Tenant
	}
	return names
}
