// Package admin is the HTTP protocol for reading and changing the configuration of a running
// server: its parts, its revisions and its known problems. A credential must have the scope
// config:read or config:write.
package admin

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// Prefix is the start of the protocol's paths.
const Prefix = "/runtime/v1"

// TenantVariables stores tenants' own variables. A *service.Service implements it.
type TenantVariables interface {
	TenantVariables(ctx context.Context, tenant string) ([]service.TenantVariable, error)
	SetTenantVariable(ctx context.Context, set service.SetTenantVariable) (*service.TenantVariable, error)
	DeleteTenantVariable(ctx context.Context, tenant, name string) error
}

// Settings configures the surface. All fields are required.
type Settings struct {
	Fleet     *fleet.Fleet
	Variables TenantVariables
	Logins    LoginSource

	_ struct{} // keyed literals only
}

// Surface is the protocol. It is safe for concurrent use. Close it after use.
type Surface struct {
	fleet     *fleet.Fleet
	variables TenantVariables
	logins    *pendingLogins
}

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
)

// New returns the surface. It fails if a setting is missing.
func New(s Settings) (*Surface, error) {
	if s.Fleet == nil || s.Variables == nil || s.Logins == nil {
		return nil, errors.New("the settings have no fleet, or nothing that keeps variables or logins")
	}
	return &Surface{fleet: s.Fleet, variables: s.Variables, logins: newPendingLogins(s.Logins)}, nil
}

// Close ends the logins that wait for a browser.
func (s *Surface) Close() { s.logins.close() }
