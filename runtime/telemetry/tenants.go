package telemetry

import "github.com/agentruntime/agentruntime/config/settings"

// otherValue is the conventions' value for any unknown value.
const otherValue = "_OTHER"

// SetTenants sets the tenants distinguished by the metrics of turns. It applies to turns that
// start later; a turn of any tenant other than these and the default is measured as _OTHER, which
// limits the number of series. With no tenant besides the default, which is the initial state,
// metrics have no tenant attribute.
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
