package telemetry

import "github.com/agentruntime/agentruntime/settings"

// otherValue is the conventions' word for a value that is not a
// known one.
const otherValue = "_OTHER"

// SetTenants replaces the tenants that the metrics of turns tell apart. Turns that
// begin from then on are measured by their tenant; one that is neither among the
// names nor the default tenant is measured as _OTHER, so that there are no more
// series than a configuration asks for. With no name but that of the default tenant
// metrics have no tenant at all, which is so until SetTenants is called.
func (t *Telemetry) SetTenants(names []string) {
	if t == nil {
		return
	}
	known := map[string]bool{settings.DefaultTenant: true}
	for _, name := range names {
		known[name] = true
	}
	if len(known) == 1 {
		known = nil
	}
	t.tenants.Store(&known)
}

// measuredTenant returns the tenant that the metrics of a turn have; "" for none.
func (t *Telemetry) measuredTenant(tenant string) string {
	known := t.tenants.Load()
	switch {
	case tenant == "" || known == nil || *known == nil:
		return ""
	case (*known)[tenant]:
		return tenant
	default:
		return otherValue
	}
}
