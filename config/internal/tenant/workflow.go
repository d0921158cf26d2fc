package tenant

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// checkWorkflows checks the workflows that an overlay adds.
func (d *Checker) checkWorkflows(o *Changes, workflows *yamltree.Node, p *tree.Place) {
	for id, w := range workflows.Pairs {
		at := p.Field(id.Text, id)
		switch limit := d.base.rights.Workflows.Limit(); {
		case keys.IsWorkflowGroup(id.Text, w):
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
func (d *Checker) checkWorkflowPatches(o *Changes, key, patches *yamltree.Node, p *tree.Place) {
	if d.base.rights.Workflows == nil {
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

// checkWorkflow checks the fields of a workflow. An overlay may not choose the owner of its runs.
func (d *Checker) checkWorkflow(w *yamltree.Node, p *tree.Place) {
	for key := range w.Pairs {
		if slices.Contains([]string{"tenant", "subject", keys.AllowWidening}, key.Text) {
			d.refuse(p.Field(key.Text, key), key, "set %s of a workflow", clip.Text(key.Text)).SetHint("the runs of its workflows belong to the tenant itself")
		}
	}
}
