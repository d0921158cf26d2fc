package tenant

import (
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// overlayLimit is the maximum number of entries of one kind in an overlay.
type overlayLimit struct {
	section, noun, setting string

	most  int
	count func(section *yamltree.Node) int
}

// checkOutline reports a JSON overlay that has more entries than the base allows. It is much
// cheaper than reading the overlay, which checkCounts needs.
func (b *Base) checkOutline(data []byte) diag.List {
	if !rawjson.Valid(data) {
		return nil
	}
	own, patches := make(map[string]int), make(map[string]int)
	for key, value := range rawjson.Entries(data) {
		if key != keys.Patches {
			own[key] = rawjson.CountEntries(value)
			continue
		}
		for section, patched := range rawjson.Entries(value) {
			patches[section] = rawjson.CountEntries(patched)
		}
	}
	for _, l := range b.limits() {
		if n := own[l.section] + patches[l.section]; l.noun != nounOfSchedules && n > l.most {
			path := l.section
			if patches[l.section] > 0 {
				path = diag.Key(keys.Patches, l.section)
			}
			return diag.List{diag.New(diag.WidenedAccess, path, "the overlay of a tenant cannot have more than %d %s, and this one has %d", l.most, l.noun, n).
				WithHint("the configuration sets the limit under tenants.may.%s", l.setting)}
		}
	}
	return nil
}

const (
	nounOfAgents    = "agents and patches of agents"
	nounOfTools     = "tools and patches of tools"
	nounOfWorkflows = "workflows and patches of workflows"
	nounOfSchedules = "schedules"
)

// limits returns the limits of overlays.
func (b *Base) limits() []overlayLimit {
	rights := b.rights
	return []overlayLimit{
		{keys.Agents, nounOfAgents, "max_agents", rights.AgentLimit(), countEntries},
		{keys.Tools, nounOfTools, "max_tools", rights.ToolLimit(), countEntries},
		{keys.Workflows, nounOfWorkflows, "workflows.max", rights.Workflows.Limit() + len(b.entries[keys.Workflows]), countEntries},
		{keys.Workflows, nounOfSchedules, "workflows.max_schedules", rights.Workflows.ScheduleLimit(), countSchedules},
	}
}

// checkCounts reports whether an overlay has at most as many entries as the base allows. It counts
// them before any is checked.
func (d *Checker) checkCounts(root *yamltree.Node) bool {
	within := true
	for _, l := range d.base.limits() {
		within = d.checkCount(root, &l) && within
	}
	return within
}

// checkCount reports an exceeded count at the last section of that kind.
func (d *Checker) checkCount(root *yamltree.Node, l *overlayLimit) bool {
	patchesAt, patches := root.FindField(keys.Patches)
	n, key, section := 0, (*yamltree.Node)(nil), (*yamltree.Node)(nil)
	var at *tree.Place
	if key, section = root.FindField(l.section); section != nil {
		n, at = l.count(section), tree.TopField(l.section, key)
	}
	if patchKey, patched := patches.FindField(l.section); patched != nil {
		n += l.count(patched)
		key, at = patchKey, tree.TopField(keys.Patches, patchesAt).Field(l.section, patchKey)
	}
	if n > l.most {
		d.refuse(at, key, "have more than %d %s, and this one has %d", l.most, l.noun, n).
			SetHint("the configuration sets the limit under tenants.may." + l.setting)
	}
	return n <= l.most
}

func countEntries(section *yamltree.Node) int { return len(section.Children) / 2 }

// countSchedules returns the number of schedules in the workflows.
func countSchedules(workflows *yamltree.Node) (n int) {
	for _, w := range workflows.Pairs {
		if _, schedules := w.FindField("schedules"); schedules != nil {
			n += len(schedules.Children)
		}
		if _, cron := w.FindField(keys.Cron); cron != nil {
			n++
		}
	}
	return n
}
