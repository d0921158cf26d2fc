package config

import (
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/workflow"
)

// decodeWorkflows decodes the workflows. Texts in them keep their ${{ … }}, which stand
// for values of a run.
func (d *decoder) decodeWorkflows() {
	d.expander.keepsRefs = true
	defer func() { d.expander.keepsRefs = false }()
	d.eachEntry(workflowsKey, func(id string, n *node, p *place, _ bool) {
		w, start := decodeRecord[workflow.Workflow](d, id, n, p)
		d.addValidationFindings(start, p, n, w.Validate())
		if w.Tenant == "" && w.Subject == "" && !d.file.options.Keyed && !d.file.Server.Authenticated() {
			w.Tenant, w.Subject = settings.LocalOwner, settings.LocalOwner // as all callers
		}
		d.file.Workflows = append(d.file.Workflows, &w)
	})
}
