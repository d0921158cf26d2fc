package resolve

import (
	"context"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
)

// permissionKey is the section of permission rules, whichever plugin claims it.
const permissionKey = spec.PermissionSection

// sectionReader is the plugin that would read an unread section.
type sectionReader struct {
	// guards reports whether the section was written to limit the agent.
	guards bool
	// hint adds how to get the section read.
	hint func(diag.Diagnostic) diag.Diagnostic
}

// readerOf finds the plugin that would read a section: a registered plugin, a plugin that the
// configuration could declare, or the plugin with the most similar key.
func (r *resolver) readerOf(key string) sectionReader {
	r.anyPlugin = true
	if c, ok := r.index.claimOf(key); ok {
		return sectionReader{r.isGuard(&c), func(d diag.Diagnostic) diag.Diagnostic {
			return d.WithHint("plugin %q claims it: add it to plugin_ids", c.plugin)
		}}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.index.set.Undeclared)) {
		for _, s := range r.index.set.Undeclared[kind] {
			if s.Key == key {
				return sectionReader{s.Guards, func(d diag.Diagnostic) diag.Diagnostic {
					return d.WithHint("plugins of type %q claim it: declare one and add it to plugin_ids", kind)
				}}
			}
		}
	}
	if key == permissionKey {
		return sectionReader{true, func(d diag.Diagnostic) diag.Diagnostic {
			return d.WithHint("no plugin that claims it is registered")
		}}
	}
	near, ok := nearest.Of(key, slices.Sorted(slices.Values(r.claimed)))
	if !ok {
		near, ok = nearest.Of(key, r.index.sectionKeys())
	}
	if !ok {
		return sectionReader{false, func(d diag.Diagnostic) diag.Diagnostic { return d }}
	}
	return sectionReader{r.guardsKey(near), func(d diag.Diagnostic) diag.Diagnostic {
		return d.WithHint("did you mean %q?", near)
	}}
}

// claimOf returns the first claim to a section by a registered plugin.
func (x *index) claimOf(key string) (claim, bool) {
	for _, id := range x.set.Plugins.IDs() {
		for _, c := range x.claims[id] {
			if c.Key == key {
				return c, true
			}
		}
	}
	return claim{}, false
}

// sectionKeys returns the keys of all readable sections, sorted.
func (x *index) sectionKeys() []string {
	keys := []string{permissionKey}
	for _, c := range x.pipeline {
		keys = append(keys, c.Key)
	}
	for _, claims := range x.claims {
		for _, c := range claims {
			keys = append(keys, c.Key)
		}
	}
	for _, sections := range x.set.Undeclared {
		for _, s := range sections {
			keys = append(keys, s.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// guardsKey reports whether a readable section guards.
func (r *resolver) guardsKey(key string) bool {
	r.anyPlugin = true
	if c, ok := r.index.claimOf(key); ok {
		return r.isGuard(&c)
	}
	for _, sections := range r.index.set.Undeclared {
		if slices.Contains(sections, spec.KindSection{Key: key, Guards: true}) {
			return true
		}
	}
	return key == permissionKey
}

// isGuard reports whether a claimed section limits the agent: either the plugin
// declares it, or the plugin has a gate.
func (r *resolver) isGuard(c *claim) bool { return c.Guards || r.hasGate(c.plugin) }

// hasGate reports whether a plugin has a gate, even if this agent does not load it. A plugin that
// fails to register counts as having one.
func (r *resolver) hasGate(id string) bool {
	if r.env != nil && slices.ContainsFunc(r.loaded, func(l execution.Loaded) bool { return l.ID == id }) {
		return r.env.Gates(id)
	}
	if _, ok := r.index.set.Plugins.Get(id); !ok {
		return false
	}
	env := r.buildAlone(id)
	return env == nil || env.Gates(id)
}

// buildAlone returns the agent's environment with only the given plugin; nil if the plugin does
// not register.
func (r *resolver) buildAlone(id string) *execution.Env {
	plugin, _ := r.index.set.Plugins.Get(id)
	sections := make(map[plugins.Claim]any)
	for _, c := range r.index.claims[id] {
		sections[plugins.Claim{Plugin: id, Key: c.Key}] = c.settingsOf(r.agent.Sections[c.Key])
	}
	env, errs := execution.Build(r.agent, []execution.Loaded{{ID: id, Plugin: plugin, Core: true}}, sections)
	if len(errs) > 0 {
		return nil
	}
	return env
}

// settingsOf returns the decoded section, or the plugin's defaults if the section is invalid.
func (c *claim) settingsOf(raw []byte) any {
	if raw != nil && c.schema != nil {
		if found, err := c.schema.ValidateJSON(context.Background(), raw); err != nil || len(found) > 0 {
			raw = nil
		}
	}
	v, found, err := c.decodeSection(raw)
	if raw != nil && (err != nil || found.HasErrors()) {
		v, _, _ = c.decodeSection(nil)
	}
	return v
}

// reportUnclaimed reports sections that no plugin reads, as errors if they guard. Check handles
// other unclaimed sections from the defaults, because it knows whether any agent claims them.
func (m *merger) reportUnclaimed() {
	for _, key := range slices.Sorted(maps.Keys(m.agent.Sections)) {
		if slices.Contains(m.claimed, key) {
			continue
		}
		rel, reader := diag.Key("sections", key), m.readerOf(key)
		if reader.guards {
			m.addError(reader.hint(diag.New(diag.UnclaimedSection, m.pathOf(rel),
				"section %q guards nothing: no plugin of agent %q claims it", key, m.agent.ID).
				WithSeverity(diag.Error)).ForAgent(m.agent.ID))
			continue
		}
		m.unclaimed = append(m.unclaimed, key)
		if !m.origin[rel] {
			m.addWarning(reader.hint(diag.New(diag.UnclaimedSection, m.pathOf(rel), "no plugin of agent %q claims section %q", m.agent.ID, key)))
		}
	}
}

// reportSilenced reports the guarding plugins that active_hook_filter excludes.
func (r *resolver) reportSilenced() {
	for i, id := range r.agent.PluginIDs {
		filter := r.agent.ActiveHookFilter
		if len(filter) == 0 || slices.Contains(filter, id) || slices.Contains(r.agent.PluginIDs[:i], id) {
			continue
		}
		guards := r.env.Gates(id) || slices.ContainsFunc(r.index.claims[id], func(c claim) bool { return c.Guards })
		if guards {
			r.addError(diag.New(diag.IgnoredField, r.pathOf(diag.Index("plugin_ids", i)), "plugin %q guards nothing: active_hook_filter leaves it out", id).
				WithHint("add it to active_hook_filter, or remove it from plugin_ids").ForAgent(r.agent.ID))
		}
	}
}

// reportIgnored reports the unread fields of an endpoint-backed agent, as errors if they guard.
func (r *resolver) reportIgnored() {
	if r.agent.Hosted() {
		r.reportUnmetered()
	}
	for _, f := range r.agent.RemoteFields() {
		switch {
		case !f.Set, f.Effect == spec.RemoteRead, f.Effect == spec.RemoteBudgets && r.holdsBudgets():
		case f.Effect == spec.RemoteSections:
			for _, key := range slices.Sorted(maps.Keys(r.agent.Sections)) {
				r.reportIgnoredField(diag.Key(f.Name, key), r.guardsKey(key) || r.readerOf(key).guards)
			}
		default:
			r.reportIgnoredField(f.Name, f.Effect != spec.RemoteIgnored)
		}
	}
}

// reportUnmetered reports the budgets that require a model's usage, which providers do not report.
func (r *resolver) reportUnmetered() {
	b := r.agent.Budgets
	if b == nil {
		return
	}
	for field, set := range map[string]bool{"max_tokens": b.MaxTokens != nil, "max_cost": b.MaxCost != nil} {
		if set {
			r.reportIgnoredField(diag.Join("budgets", field), true)
		}
	}
}

// whyIgnored returns where an agent with an endpoint runs, and a hint for a field that guards
// nothing there.
func (r *resolver) whyIgnored() (where, hint string) {
	if r.agent.Hosted() {
		return "at a hosted provider", "only the provider can enforce it: configure it there and remove it here"
	}
	return "at an endpoint", "only the peer can enforce it: configure it there and remove it here"
}

// reportIgnoredField reports an unread field of an endpoint-backed agent.
func (r *resolver) reportIgnoredField(field string, guards bool) {
	where, hint := r.whyIgnored()
	d := diag.New(diag.IgnoredField, r.pathOf(field), "agent %q runs %s, where %s has no effect", r.agent.ID, where, field)
	if guards {
		r.addError(d.WithHint("%s", hint).ForAgent(r.agent.ID))
		return
	}
	r.addWarning(d.WithSeverity(diag.Warning).WithHint("remove it"))
}

// holdsBudgets reports whether the agent's backend enforces the budgets of turns. A backend that
// fails to build or panics is reported as such.
func (r *resolver) holdsBudgets() bool {
	if r.remote == nil {
		return true
	}
	holds := true
	_ = callGuarded("Profile", func() { holds = r.remote.Profile().Budgets == backend.BudgetsEnforced })
	return holds
}
