package store

import (
	"context"
	"time"
)

// TenantVariable is a tenant's value for the variable that its agents refer to as ${tenant.NAME}.
type TenantVariable struct {
	Tenant, Name string
	// Secret reports whether the value is a secret. A secret value is sealed if there is a key for
	// that.
	Secret bool
	// Value is JSON.
	Value []byte
	// Author set the variable at UpdatedAt.
	Author    string
	UpdatedAt time.Time
}

// TenantVariables is the part of a Store that keeps the variables of tenants.
type TenantVariables interface {
	// PutTenantVariable stores a variable, replacing one of the same name.
	PutTenantVariable(ctx context.Context, v *TenantVariable) error
	// ReplaceTenantVariable stores a variable if its stored value is old, or if absent and old is
	// nil. Otherwise it returns false and changes nothing.
	ReplaceTenantVariable(ctx context.Context, v *TenantVariable, old []byte) (bool, error)
	// DeleteTenantVariable deletes a variable. The error is ErrNotFound if the tenant
	// does not have it.
	DeleteTenantVariable(ctx context.Context, tenant, name string) error
	// TenantVariable returns a variable. The error is ErrNotFound if the tenant does not
	// have it.
	TenantVariable(ctx context.Context, tenant, name string) (*TenantVariable, error)
	// TenantVariables returns up to limit variables of a tenant whose names come after one, sorted
	// by name.
	TenantVariables(ctx context.Context, tenant, after string, limit int) ([]*TenantVariable, error)
}
