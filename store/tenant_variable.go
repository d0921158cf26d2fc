package store

import (
	"context"
	"time"
)

// TenantVariable is a value that a tenant has for what its agents refer to as
// ${tenant.NAME}.
type TenantVariable struct {
	Tenant, Name string
	// Secret is set if the value is a secret. The value is then sealed, as far as there
	// is a key for that.
	Secret bool
	// Value is JSON.
	Value []byte
	// Author set it, at UpdatedAt.
	Author    string
	UpdatedAt time.Time
}

// TenantVariables is the part of a Store that keeps the variables of tenants.
type TenantVariables interface {
	// PutTenantVariable stores a variable, in the place of one of the same name.
	PutTenantVariable(ctx context.Context, v *TenantVariable) error
	// ReplaceTenantVariable stores a variable in place of one with an old value, nil for none. It
	// reports false, and changes nothing, if there is another value.
	ReplaceTenantVariable(ctx context.Context, v *TenantVariable, old []byte) (bool, error)
	// DeleteTenantVariable deletes a variable. The error is ErrNotFound if the tenant
	// does not have it.
	DeleteTenantVariable(ctx context.Context, tenant, name string) error
	// TenantVariable returns a variable. The error is ErrNotFound if the tenant does not
	// have it.
	TenantVariable(ctx context.Context, tenant, name string) (*TenantVariable, error)
	// TenantVariables returns up to limit variables of a tenant whose names come after
	// one, in the order of the names.
	TenantVariables(ctx context.Context, tenant, after string, limit int) ([]*TenantVariable, error)
}
