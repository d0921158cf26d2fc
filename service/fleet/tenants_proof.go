package fleet

import (
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
)

// TenantsProof is the result of checking the overlays of all tenants over a new base.
type TenantsProof struct {
	// Checked is the number of overlays.
	Checked int
	// Broken are the tenants whose overlays do not resolve over the new base, sorted.
	Broken []BrokenTenant
	// Changed lists the tenants for whose agents the new base changes something, or whose overlays
	// get new warnings, sorted.
	Changed []ChangedTenant
}

// ChangedTenant is a tenant affected by a new base.
type ChangedTenant struct {
	Tenant string
	// Diff covers the agents that the tenant's overlay changes.
	Diff *resolve.DiffReport
	// Warnings are the warnings that the overlay does not have over the current base.
	Warnings diag.List
}

// BrokenTenant is a tenant whose overlay does not resolve over a base.
type BrokenTenant struct {
	Tenant   string
	Findings diag.List
}

// BrokenTenantsError reports that a base was not published, because some tenants' overlays do not
// resolve over it.
type BrokenTenantsError struct {
	Broken []BrokenTenant
}

// Error names some of the tenants.
func (e *BrokenTenantsError) Error() string {
	const shown = 3
	text := fmt.Sprintf("%d tenants would break", len(e.Broken))
	if len(e.Broken) == 1 {
		text = "one tenant would break"
	}
	sep := ": "
	for i := range e.Broken[:min(len(e.Broken), shown)] {
		text, sep = text+sep+e.Broken[i].Tenant, ", "
	}
	if len(e.Broken) > shown {
		text += ", …"
	}
	return text
}
