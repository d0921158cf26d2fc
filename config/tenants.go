package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/config/settings"
)

// Tenants returns the tenants named by the server's credentials and by schedules, sorted. Tokens
// with the tenant in a claim can name others.
func (f *File) Tenants() []string {
	named := make(map[string]bool)
	for i := range f.Server.Keys {
		tenant, _ := f.Server.Keys[i].Owner()
		named[tenant] = true
	}
	if f.Server.OAuth != nil {
		for i := range f.Server.OAuth.Clients {
			tenant, _ := f.Server.OAuth.Clients[i].Owner()
			named[tenant] = true
		}
	}
	if j := f.Server.JWT; j != nil && j.TenantClaim == "" {
		named[cmp.Or(j.Tenant, settings.DefaultTenant)] = true
	}
	for i := range f.Schedules {
		tenant, _ := f.Schedules[i].Owner(&f.Server)
		named[tenant] = true
	}
	return slices.Sorted(maps.Keys(named))
}
