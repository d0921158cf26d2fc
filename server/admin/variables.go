package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// variableRoutes returns the routes for tenants' variables.
func (s *Surface) variableRoutes() []server.Route {
	const all, one = Prefix + "/tenants/{tenant}/variables", Prefix + "/tenants/{tenant}/variables/{name}"
	return []server.Route{
		server.Handle("GET "+all, settings.ScopeOwnConfigRead, forAllAgents(s.listVariables)),
		server.Handle("PUT "+one, settings.ScopeOwnConfigWrite, s.setVariable).WithAudit("set_tenant_variable"),
		server.Handle("DELETE "+one, settings.ScopeOwnConfigWrite, s.deleteVariable).WithAudit("delete_tenant_variable"),
	}
}

// VariableList has the variables of a tenant, without secret values.
type VariableList struct {
	Variables []service.TenantVariable `json:"variables"`
}

// variableRequest is the new value of a variable.
type variableRequest struct {
	Value *string `json:"value"`
}

// deletedVariable names a variable that the tenant no longer sets.
type deletedVariable struct {
	Name string `json:"name"`
}

func (s *Surface) listVariables(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*VariableList, error) {
	t, err := s.tenantOf(caller, r)
	if err != nil {
		return nil, err
	}
	list, err := s.service.TenantVariables(ctx, t.Name())
	return &VariableList{list}, err
}

func (s *Surface) setVariable(ctx context.Context, caller service.Caller, r *http.Request, in variableRequest) (*service.TenantVariable, error) {
	t, err := s.tenantOf(caller, r)
	if err != nil {
		return nil, err
	}
	if err := checkWhole(caller); err != nil {
		return nil, err
	}
	if in.Value == nil {
		return nil, &service.InvalidError{Field: "value", Problem: "is required"}
	}
	set, err := s.service.SetTenantVariable(ctx, service.SetTenantVariable{
		Tenant: t.Name(), Name: r.PathValue("name"), Value: *in.Value, Author: caller.Tenant + "/" + caller.Subject,
	})
	if errors.Is(err, service.ErrNoEncryptionKey) {
		return nil, &server.Refusal{Status: http.StatusConflict, Code: codeNoKey, Message: service.ErrNoEncryptionKey.Error()}
	}
	return set, err
}

func (s *Surface) deleteVariable(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*deletedVariable, error) {
	t, err := s.tenantOf(caller, r)
	if err != nil {
		return nil, err
	}
	if err := checkWhole(caller); err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if err := s.service.DeleteTenantVariable(ctx, t.Name(), name); err != nil {
		return nil, err
	}
	return &deletedVariable{name}, nil
}
