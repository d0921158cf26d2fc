package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

// tenantRecords keeps the variables of tenants and revoked tokens.
type tenantRecords struct{ *core }

const selectVariables = "SELECT tenant, name, secret, value, author, updated_at FROM tenant_variables WHERE tenant = $1 AND name "

func variableFields(v *store.TenantVariable) []any {
	return []any{&v.Tenant, &v.Name, &v.Secret, &v.Value, &v.Author, (*Time)(&v.UpdatedAt)}
}

// PutTenantVariable stores a variable.
func (r *tenantRecords) PutTenantVariable(ctx context.Context, v *store.TenantVariable) error {
	if err := v.CheckText(); err != nil {
		return err
	}
	_, err := r.exec(ctx, `INSERT INTO tenant_variables (tenant, name, secret, value, author, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant, name) DO UPDATE SET secret = excluded.secret, value = excluded.value, author = excluded.author, updated_at = excluded.updated_at`,
		v.Tenant, v.Name, v.Secret, v.Value, v.Author, Time(v.UpdatedAt))
	return r.db.WrapError("store variable", v.Name, err)
}

// ReplaceTenantVariable stores a variable if its stored value is old, nil for none.
func (r *tenantRecords) ReplaceTenantVariable(ctx context.Context, v *store.TenantVariable, old []byte) (bool, error) {
	if err := v.CheckText(); err != nil {
		return false, err
	}
	statement := `INSERT INTO tenant_variables (tenant, name, secret, value, author, updated_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant, name) DO NOTHING`
	args := []any{v.Tenant, v.Name, v.Secret, v.Value, v.Author, Time(v.UpdatedAt)}
	if old != nil {
		statement = `UPDATE tenant_variables SET secret = $3, value = $4, author = $5, updated_at = $6 WHERE tenant = $1 AND name = $2 AND value = $7`
		args = append(args, old)
	}
	changed, err := r.exec(ctx, statement, args...)
	return changed > 0, r.db.WrapError("replace variable", v.Name, err)
}

// DeleteTenantVariable deletes a variable.
func (r *tenantRecords) DeleteTenantVariable(ctx context.Context, tenant, name string) error {
	err := checkChanged(r.exec(ctx, "DELETE FROM tenant_variables WHERE tenant = $1 AND name = $2", tenant, name))
	return r.db.WrapError("delete variable", name, err)
}

// TenantVariable returns a variable.
func (r *tenantRecords) TenantVariable(ctx context.Context, tenant, name string) (*store.TenantVariable, error) {
	found, err := FindRow(ctx, r.db.Reader, variableFields, selectVariables+"= $2", tenant, name)
	return found, r.db.WrapError("read variable", name, err)
}

// TenantVariables returns variables of a tenant, sorted by name.
func (r *tenantRecords) TenantVariables(ctx context.Context, tenant, after string, limit int) ([]*store.TenantVariable, error) {
	list, err := CollectRecords(ctx, r.db.Reader, variableFields, selectVariables+"> $2 ORDER BY name LIMIT $3", tenant, after, int64(min(limit, store.MaxPage)))
	return list, r.db.WrapError("list", "variables of a tenant", err)
}
