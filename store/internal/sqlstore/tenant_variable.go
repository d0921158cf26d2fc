package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

const selectVariables = "SELECT tenant, name, secret, value, author, updated_at FROM tenant_variables WHERE tenant = $1 AND name "

func variableFields(v *store.TenantVariable) []any {
	return []any{&v.Tenant, &v.Name, &v.Secret, &v.Value, &v.Author, (*Time)(&v.UpdatedAt)}
}

// PutTenantVariable stores a variable.
func (r *Records) PutTenantVariable(ctx context.Context, v *store.TenantVariable) error {
	if err := v.CheckText(); err != nil {
		return err
	}
	err := r.db.Execute(ctx, func(ctx context.Context, s Session) error {
		_, err := s.Exec(ctx, `INSERT INTO tenant_variables (tenant, name, secret, value, author, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (tenant, name) DO UPDATE SET secret = excluded.secret, value = excluded.value, author = excluded.author, updated_at = excluded.updated_at`,
			v.Tenant, v.Name, v.Secret, v.Value, v.Author, Time(v.UpdatedAt))
		return err
	})
	return r.db.WrapError("store variable", v.Name, err)
}

// DeleteTenantVariable deletes a variable.
func (r *Records) DeleteTenantVariable(ctx context.Context, tenant, name string) error {
	err := r.db.Execute(ctx, func(ctx context.Context, s Session) error {
		return checkChanged(s.Exec(ctx, "DELETE FROM tenant_variables WHERE tenant = $1 AND name = $2", tenant, name))
	})
	return r.db.WrapError("delete variable", name, err)
}

// TenantVariable returns a variable.
func (r *Records) TenantVariable(ctx context.Context, tenant, name string) (*store.TenantVariable, error) {
	found, err := FindRow(ctx, r.db.Reader, variableFields, selectVariables+"= $2", tenant, name)
	return found, r.db.WrapError("read variable", name, err)
}

// TenantVariables returns variables of a tenant in the order of their names.
func (r *Records) TenantVariables(ctx context.Context, tenant, after string, limit int) ([]*store.TenantVariable, error) {
	list, err := CollectRecords(ctx, r.db.Reader, variableFields, selectVariables+"> $2 ORDER BY name LIMIT $3", tenant, after, int64(min(limit, store.MaxPage)))
	return list, r.db.WrapError("list", "variables of a tenant", err)
}
