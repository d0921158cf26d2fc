package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/store"
)

// tenantTable has the variables of tenants.
type tenantTable struct {
	// variables are the variables of each tenant, by name.
	variables map[string]map[string]*store.TenantVariable
}

// PutTenantVariable stores a variable.
func (m *Store) PutTenantVariable(ctx context.Context, v *store.TenantVariable) error {
	if err := v.CheckText(); err != nil {
		return err
	}
	return m.withLock(ctx, func() error {
		m.putVariable(v)
		return nil
	})
}

// putVariable stores a copy of a variable. The lock is held.
func (m *Store) putVariable(v *store.TenantVariable) {
	kept := copyVariable(v)
	kept.UpdatedAt = truncateTime(v.UpdatedAt)
	if m.variables == nil {
		m.variables = make(map[string]map[string]*store.TenantVariable)
	}
	if m.variables[v.Tenant] == nil {
		m.variables[v.Tenant] = make(map[string]*store.TenantVariable)
	}
	m.variables[v.Tenant][v.Name] = kept
}

// ReplaceTenantVariable stores a variable if its stored value is old, nil for none.
func (m *Store) ReplaceTenantVariable(ctx context.Context, v *store.TenantVariable, old []byte) (done bool, err error) {
	if err := v.CheckText(); err != nil {
		return false, err
	}
	err = m.withLock(ctx, func() error {
		kept := m.variables[v.Tenant][v.Name]
		if done = (kept == nil) == (old == nil) && (kept == nil || bytes.Equal(kept.Value, old)); done {
			m.putVariable(v)
		}
		return nil
	})
	return done, err
}

// DeleteTenantVariable deletes a variable.
func (m *Store) DeleteTenantVariable(ctx context.Context, tenant, name string) error {
	return m.withLock(ctx, func() error {
		own := m.variables[tenant]
		if own[name] == nil {
			return store.ErrNotFound
		}
		if delete(own, name); len(own) == 0 {
			delete(m.variables, tenant)
		}
		return nil
	})
}

// TenantVariable returns a variable.
func (m *Store) TenantVariable(ctx context.Context, tenant, name string) (found *store.TenantVariable, err error) {
	err = m.withLock(ctx, func() error {
		kept := m.variables[tenant][name]
		if kept == nil {
			return store.ErrNotFound
		}
		found = copyVariable(kept)
		return nil
	})
	return found, err
}

// TenantVariables returns variables of a tenant, sorted by name.
func (m *Store) TenantVariables(ctx context.Context, tenant, after string, limit int) (list []*store.TenantVariable, err error) {
	err = m.withLock(ctx, func() error {
		for _, name := range slices.Sorted(maps.Keys(m.variables[tenant])) {
			if name > after && len(list) < limit {
				list = append(list, copyVariable(m.variables[tenant][name]))
			}
		}
		return nil
	})
	return list, err
}

func copyVariable(v *store.TenantVariable) *store.TenantVariable {
	c := *v
	c.Value = slices.Clone(v.Value)
	return &c
}
