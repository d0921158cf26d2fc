package config

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/diag"
)

// overlayLimit is how many entries an overlay may have of a kind.
type overlayLimit struct {
	section, noun, setting string

	most  int
	count func(section *node) int
}

// outline are the entries of an overlay.
type outline struct{ Agents, Tools, Workflows map[string]json.RawMessage }

// checkOutline reports an overlay in JSON that has more entries than the base allows. It
// takes much less than reading the overlay, which checkCounts needs.
func (b *TenantBase) checkOutline(data []byte) diag.List {
	var all struct {
		outline

		Patches outline
	}
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	for _, l := range b.limits() {
		var own, patches int
		switch l.noun {
		case nounOfAgents:
			own, patches = len(all.Agents), len(all.Patches.Agents)
		case nounOfTools:
			own, patches = len(all.Tools), len(all.Patches.Tools)
		case nounOfWorkflows:
			own, patches = len(all.Workflows), len(all.Patches.Workflows)
		}
		if own+patches > l.most {
			path := l.section
			if patches > 0 {
				path = diag.Key(patchesKey, l.section)
			}
			return diag.List{diag.New(diag.WidenedAccess, path, "the overlay of a tenant cannot have more than %d %s, and this one has %d", l.most, l.noun, own+patches).
				WithHint("the configuration sets the limit under tenants.may.%s", l.setting)}
		}
	}
	return nil
}

const (
	nounOfAgents    = "agents and patches of agents"
	nounOfTools     = "tools and patches of tools"
	nounOfWorkflows = "workflows and patches of workflows"
)

// limits are the limits of overlays.
func (b *TenantBase) limits() []overlayLimit {
	rights := &b.Rights
	return []overlayLimit{
		{agentsKey, nounOfAgents, "max_agents", rights.AgentLimit(), countEntries},
		{toolsKey, nounOfTools, "max_tools", rights.ToolLimit(), countEntries},
		{workflowsKey, nounOfWorkflows, "workflows.max", rights.Workflows.Limit() + len(b.entries[workflowsKey]), countEntries},
		{workflowsKey, "schedules", "workflows.max_schedules", rights.Workflows.ScheduleLimit(), countSchedules},
	}
}

// checkCounts reports whether an overlay has no more entries than the base allows. They
// are counted before any of them is checked.
func (d *overlayChecker) checkCounts(root *node) bool {
	within := true
	for _, l := range d.base.limits() {
		within = d.checkCount(root, &l) && within
	}
	return within
}

// checkCount reports what is too much of one kind at the last section that has it.
func (d *overlayChecker) checkCount(root *node, l *overlayLimit) bool {
	patchesAt, patches := root.findField(patchesKey)
	n, key, section := 0, (*node)(nil), (*node)(nil)
	var at *place
	if key, section = root.findField(l.section); section != nil {
		n, at = l.count(section), (*place)(nil).fieldPlace(l.section, key)
	}
	if patchKey, patched := patches.findField(l.section); patched != nil {
		n += l.count(patched)
		key, at = patchKey, (*place)(nil).fieldPlace(patchesKey, patchesAt).fieldPlace(l.section, patchKey)
	}
	if n > l.most {
		d.refuse(at, key, "have more than %d %s, and this one has %d", l.most, l.noun, n).
			setHint("the configuration sets the limit under tenants.may." + l.setting)
	}
	return n <= l.most
}

func countEntries(section *node) int { return len(section.children) / 2 }

// countSchedules returns how many schedules some workflows have.
func countSchedules(workflows *node) (n int) {
	for _, w := range workflows.pairs {
		if _, schedules := w.findField("schedules"); schedules != nil {
			n += len(schedules.children)
		}
	}
	return n
}
