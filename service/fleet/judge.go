package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

type judge struct {
	rights       *spec.TenantRights
	base, tenant *registry.Set
	overlay      *config.TenantOverlay
	// buildsOn maps the tenant's own agents to the base agents that they extend, directly or
	// indirectly.
	buildsOn map[string]string
	found    diag.List
}

// findBases determines which base agents the tenant's own agents extend. It reports agents that
// extend none, because the base's rules would not apply to them.
func (j *judge) findBases() {
	j.buildsOn = make(map[string]string)
	for _, id := range j.overlay.Agents {
		if _, inBase := j.base.Agents.Get(id); inBase {
			continue
		}
		chain := j.overlay.File.Extends(id)
		at := slices.IndexFunc(chain, func(below string) bool { _, inBase := j.base.Agents.Get(below); return inBase })
		switch {
		case at >= 0:
			j.buildsOn[id] = chain[at]
		case !j.rights.Agents:
			j.report(id, []string{"extends"}, "extend an agent of the configuration, or the configuration must allow it under tenants.may.agents",
				"the overlay of a tenant cannot bring agent %q, which extends none of the configuration", id)
		}
	}
}

// judgeAccess reports the first access that an agent gains although the base does not allow it.
func (j *judge) judgeAccess(d *resolve.AgentDiff) {
	var widened []*resolve.Change
	for i := range d.Changes {
		if c := &d.Changes[i]; c.Widened && !j.mayWiden(c) {
			widened = append(widened, c)
		}
	}
	if len(widened) == 0 {
		return
	}
	c := widened[0]
	text := fmt.Sprintf("the overlay gives agent %q the tool %q", d.Agent, c.Subject)
	switch {
	case c.Field != "tool":
		text = fmt.Sprintf("the overlay widens %s of agent %q: %s → %s", strings.TrimSpace(c.Field+" "+c.Subject), d.Agent, cmp.Or(c.Old, "none"), cmp.Or(c.New, "none"))
	case c.Old != "":
		text = fmt.Sprintf("the overlay lets agent %q call tool %q where it may not: %s → %s", d.Agent, c.Subject, c.Old, c.New)
	}
	if n := len(widened) - 1; n > 0 {
		text += fmt.Sprintf(", and widens access in %d more ways", n)
	}
	fields, hint := []string{c.Field, "sections", "extends"}, "the configuration must allow it under tenants.may.fields"
	switch c.Field {
	case "other tools":
		text = fmt.Sprintf("the overlay lets agent %q call tools that it does not have yet, such as those that clients bring, where it may not: %s → %s", d.Agent, c.Old, c.New)
		hint = "rules of permission cannot be weakened"
	case "tool":
		hint = "the configuration must allow it under tenants.may.tools"
	}
	if c.Field == "tool" && c.Old == "" {
		fields = []string{"allowed_tools", "allowed_tool_patterns", "excluded_tools", "excluded_tool_patterns", "delegates", "handoffs", "extends"}
	}
	j.report(d.Agent, fields, hint, "%s", text)
}

// closedFields maps the diff changes that no overlay may make to the fields concerned.
var closedFields = map[string]string{"plugin": "plugin_ids", "active_hook_filter": "active_hook_filter", "session_start": "session_start", "a2a": "a2a", "endpoint": "endpoint"}

// judgeClosed reports changes of fields that no overlay may set, such as when it rewrites an agent
// of the base and omits them.
func (j *judge) judgeClosed(d *resolve.AgentDiff) {
	if d.Kind != resolve.Changed {
		return
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		field, closed := closedFields[c.Field]
		if c.Field == "section" && c.Subject != spec.PermissionSection && !j.rights.MaySet(c.Subject) {
			field, closed = "sections", true
		}
		if closed {
			j.report(d.Agent, []string{field, "extends"}, "patch the agent, or extend it, and leave the field as it is",
				"the overlay of a tenant cannot change %s of agent %q", strings.TrimSpace(field+" "+c.Subject), d.Agent)
			return
		}
	}
}

// mayWiden reports whether the base allows a tenant's agents to gain the access in c. Rules about
// the base's tools cannot be weakened.
func (j *judge) mayWiden(c *resolve.Change) bool {
	switch {
	case len(c.Lifted) > 0:
		return !slices.ContainsFunc(c.Lifted, func(field string) bool { return !j.mayLift(field) })
	case c.Field == "section":
		return c.Subject != spec.PermissionSection && j.rights.MaySet(c.Subject)
	case c.Field != "tool":
		return false
	}
	if slices.Contains(j.overlay.OwnTools, j.tenant.Tools.Owner(c.Subject)) {
		return true
	}
	if c.Old != "" {
		return false
	}
	return j.leadsToOwn(c.Subject) || j.rights.MayUse(c.Subject)
}

// mayLift reports whether the base allows a tenant to allow more through a field. Budgets are
// judged by their numbers.
func (j *judge) mayLift(field string) bool {
	return strings.HasPrefix(field, "budgets.") || j.rights.MayWiden(field)
}

// leadsToOwn reports whether a tool leads to one of the tenant's own agents.
func (j *judge) leadsToOwn(tool string) bool {
	return slices.ContainsFunc(j.overlay.Agents, func(id string) bool {
		_, inBase := j.base.Agents.Get(id)
		return !inBase && (tool == agenttool.DelegateID(id) || tool == agenttool.HandoffID(id))
	})
}

// judgeModels reports a model that the tenant may not choose.
func (j *judge) judgeModels(id string) {
	now := j.effective(j.tenant, id)
	known := []*spec.Agent{j.effective(j.base, id)}
	for _, below := range j.overlay.File.Extends(id) {
		known = append(known, j.effective(j.base, below))
	}
	mayUse := func(model string, of func(*spec.Agent) string) bool {
		return model == "" || j.rights.MayChoose(model) || slices.ContainsFunc(known, func(a *spec.Agent) bool { return a != nil && of(a) == model })
	}
	const hint = "the configuration must allow it under tenants.may.models"
	if !mayUse(now.ModelID, func(a *spec.Agent) string { return a.ModelID }) {
		j.report(id, []string{"model_id"}, hint, "the overlay of a tenant cannot choose the model %q", now.ModelID)
	}
	if !mayUse(summaryModel(now), summaryModel) {
		j.report(id, []string{"context_policy"}, hint, "the overlay of a tenant cannot choose the model %q for summaries", summaryModel(now))
	}
}

func summaryModel(a *spec.Agent) string {
	if a.ContextPolicy == nil {
		return ""
	}
	return a.ContextPolicy.SummaryModelID
}

// judgeBudgets reports budgets above both the base's limits and the agent's budgets in the base.
func (j *judge) judgeBudgets(id string) {
	now, before := j.effective(j.tenant, id), j.effective(j.base, cmp.Or(j.buildsOn[id], id))
	var limits *spec.Budgets
	if before != nil {
		limits = cmp.Or(before.Budgets, new(spec.Budgets))
	}
	above := now.Budgets.Exceeds(j.rights.MaxBudget)
	if before != nil {
		most := limits.Or(j.rights.MaxBudget)
		above = slices.DeleteFunc(now.Budgets.Exceeds(most), func(field string) bool { return !slices.Contains(now.Budgets.Exceeds(limits), field) })
	}
	if len(above) > 0 {
		j.report(id, []string{"budgets"}, "the configuration says the most under tenants.may.max_budget", "the overlay of a tenant cannot set %s of agent %q as high", strings.Join(above, ", "), id)
	}
}

// effective returns an agent with the defaults merged under it; nil if it does not exist.
func (j *judge) effective(set *registry.Set, id string) *spec.Agent {
	agent, ok := set.Agents.Get(id)
	if !ok {
		return nil
	}
	agent, _ = set.Defaults.Apply(agent)
	return agent
}

// report adds a diagnostic at the first of the fields that the overlay sets for an agent, or at the
// agent.
func (j *judge) report(agent string, fields []string, hint, format string, args ...any) {
	d := diag.New(diag.WidenedAccess, j.overlay.PathOf(agent, fields), format, args...).WithHint("%s", hint)
	d.Agent = agent
	j.found = append(j.found, d)
}
