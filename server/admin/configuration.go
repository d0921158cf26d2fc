package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
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

// configurationOf returns the configuration in a request's path: a tenant's overlay, or else the
// base.
func (s *Surface) configurationOf(caller service.Caller, r *http.Request) (configuration, error) {
	if r.PathValue("tenant") == "" {
		return s.fleet, nil
	}
	return s.tenantOf(caller, r)
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
