package config

// overlayLimit is how many entries an overlay may have of a kind.
type overlayLimit struct {
	section, noun, setting string

	most  int
	count func(section *node) int
}

// checkCounts reports whether an overlay has no more entries than the base allows. They
// are counted before any of them is checked.
func (d *overlayChecker) checkCounts(root *node) bool {
	rights := &d.base.Rights
	within := true
	for _, l := range []overlayLimit{
		{agentsKey, "agents and patches of agents", "max_agents", rights.AgentLimit(), countEntries},
		{toolsKey, "tools and patches of tools", "max_tools", rights.ToolLimit(), countEntries},
		{workflowsKey, "workflows and patches of workflows", "workflows.max", rights.Workflows.Limit() + len(d.base.entries[workflowsKey]), countEntries},
		{workflowsKey, "schedules", "workflows.max_schedules", rights.Workflows.ScheduleLimit(), countSchedules},
	} {
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
