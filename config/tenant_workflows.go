package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// checkWorkflows checks the workflows that an overlay adds.
func (d *overlayChecker) checkWorkflows(o *TenantOverlay, workflows *yamltree.Node, p *tree.Place) {
	for id, w := range workflows.Pairs {
		at := p.Field(id.Text, id)
		switch limit := d.base.Rights.Workflows.Limit(); {
		case isWorkflowGroup(id.Text, w):
			d.refuse(at, id, "group workflows").SetHint("write each trigger or schedule under its id in workflows")
			continue
		case limit == 0:
			d.refuse(at, id, "bring workflows").SetHint("the configuration must allow it under tenants.may.workflows")
			return
		case len(o.OwnWorkflows) == limit:
			d.refuse(at, id, "bring more than %d workflows", limit).SetHint("the configuration says how many under tenants.may.workflows.max")
			return
		case d.base.has(keys.Workflows, id.Text):
			d.refuse(at, id, "replace a workflow of the configuration").SetHint("patch it, or give this one another id")
			continue
		}
		o.OwnWorkflows = append(o.OwnWorkflows, id.Text)
		o.addWorkflow(id.Text)
		d.checkWorkflow(w, at)
	}
}

// checkWorkflowPatches checks the patches of workflows of the configuration.
func (d *overlayChecker) checkWorkflowPatches(o *TenantOverlay, key, patches *yamltree.Node, p *tree.Place) {
	if d.base.Rights.Workflows == nil {
		d.refuse(p, key, "patch workflows").SetHint("the configuration must allow it under tenants.may.workflows")
		return
	}
	for id, patch := range patches.Pairs {
		if patch.Kind == yamltree.Null {
			o.Removed[keys.Workflows] = append(o.Removed[keys.Workflows], id.Text)
			continue
		}
		o.addWorkflow(id.Text)
		d.checkWorkflow(patch, p.Field(id.Text, id))
	}
}

// addWorkflow records a workflow that the overlay adds, changes, or both.
func (o *TenantOverlay) addWorkflow(id string) {
	if !slices.Contains(o.Workflows, id) {
		o.Workflows = append(o.Workflows, id)
	}
}

// checkWorkflow checks the fields of a workflow. An overlay may not choose the owner of its runs.
func (d *overlayChecker) checkWorkflow(w *yamltree.Node, p *tree.Place) {
	for key := range w.Pairs {
		if slices.Contains([]string{"tenant", "subject", keys.AllowWidening}, key.Text) {
			d.refuse(p.Field(key.Text, key), key, "set %s of a workflow", clip.Text(key.Text)).SetHint("the runs of its workflows belong to the tenant itself")
		}
	}
}

// SeenWith returns the configuration as seen by a tenant with these workflows of its own.
func (b *TenantBase) SeenWith(workflows []string) *TenantBase {
	all := b.entries[keys.Workflows]
	if len(all) == len(workflows) {
		return b
	}
	seen := *b
	seen.entries = map[string]entriesByID{keys.Agents: b.entries[keys.Agents], keys.Tools: b.entries[keys.Tools], keys.Workflows: make(entriesByID, len(workflows))}
	for _, id := range workflows {
		seen.entries[keys.Workflows][id] = all[id]
	}
	return &seen
}
