package postgres

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
)

// PutTenantVariable stores a variable.
func (s *Store) PutTenantVariable(ctx context.Context, v *store.TenantVariable) error {
	if err := v.CheckText(); err != nil {
		return err
	}
	err := s.queries.PutTenantVariable(ctx, db.PutTenantVariableParams{
		Tenant: v.Tenant, Name: v.Name, Secret: v.Secret, Value: v.Value, Author: v.Author, UpdatedAt: instant.Time(v.UpdatedAt),
	})
	return wrapError("store variable", v.Name, err)
}

// DeleteTenantVariable deletes a variable.
func (s *Store) DeleteTenantVariable(ctx context.Context, tenant, name string) error {
	n, err := s.queries.DeleteTenantVariable(ctx, db.DeleteTenantVariableParams{Tenant: tenant, Name: name})
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return wrapError("delete variable", name, err)
}

// TenantVariable returns a variable.
func (s *Store) TenantVariable(ctx context.Context, tenant, name string) (*store.TenantVariable, error) {
	row, err := s.queries.GetTenantVariable(ctx, db.GetTenantVariableParams{Tenant: tenant, Name: name})
	if err != nil {
		return nil, wrapError("read variable", name, err)
	}
	return tenantVariableOf(&row), nil
}

// TenantVariables returns variables of a tenant in the order of their names.
func (s *Store) TenantVariables(ctx context.Context, tenant, after string, limit int) ([]*store.TenantVariable, error) {
	rows, err := s.queries.TenantVariablesOf(ctx, db.TenantVariablesOfParams{Tenant: tenant, After: after, Most: int32(min(limit, store.MaxPage))})
	if err != nil {
		return nil, wrapError("list", "variables of a tenant", err)
	}
	return sqlstore.Records(rows, tenantVariableOf), nil
}

func tenantVariableOf(r *db.TenantVariable) *store.TenantVariable {
	return &store.TenantVariable{
		Tenant: r.Tenant, Name: r.Name, Secret: r.Secret, Value: r.Value, Author: r.Author, UpdatedAt: time.Time(r.UpdatedAt),
	}
}
