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

// sectionReader is the plugin that would read a section which nothing reads.
type sectionReader struct {
	// guards reports whether the section was written to limit the agent.
	guards bool
	// hint adds what would make something read the section.
	hint func(diag.Diagnostic) diag.Diagnostic
}

// readerOf finds the plugin that would read a section: one that is registered,
// one that the configuration could declare, or that of the key nearest to it.
func (t *template) readerOf(key string) sectionReader {
	t.anyPlugin = true
	if c, ok := t.index.claimOf(key); ok {
		return sectionReader{t.isGuard(&c), func(d diag.Diagnostic) diag.Diagnostic {
			return d.WithHint("plugin %q claims it: add it to plugin_ids", c.plugin)
		}}
	}
	for _, kind := range slices.Sorted(maps.Keys(t.index.set.Undeclared)) {
		for _, s := range t.index.set.Undeclared[kind] {
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
	near, ok := nearest.Of(key, slices.Sorted(slices.Values(t.claimed)))
	if !ok {
		near, ok = nearest.Of(key, t.index.sectionKeys())
	}
	if !ok {
		return sectionReader{false, func(d diag.Diagnostic) diag.Diagnostic { return d }}
	}
	return sectionReader{t.guardsKey(near), func(d diag.Diagnostic) diag.Diagnostic {
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

// sectionKeys returns the keys of all sections that something may read, sorted.
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

// guardsKey reports whether a section that something may read guards.
func (t *template) guardsKey(key string) bool {
	t.anyPlugin = true
	if c, ok := t.index.claimOf(key); ok {
		return t.isGuard(&c)
	}
	for _, sections := range t.index.set.Undeclared {
		if slices.Contains(sections, spec.KindSection{Key: key, Guards: true}) {
			return true
		}
	}
	return key == permissionKey
}

// isGuard reports whether a claimed section limits what the agent may do: the
// plugin says so, or has a gate.
func (t *template) isGuard(c *claim) bool { return c.Guards || t.hasGate(c.plugin) }

// hasGate reports whether a plugin has a gate, be it that this agent does not load
// it. A plugin that cannot tell because it does not register counts as one.
func (t *template) hasGate(id string) bool {
	if t.env != nil && slices.ContainsFunc(t.loaded, func(l execution.Loaded) bool { return l.ID == id }) {
		return t.env.Gates(id)
	}
	if _, ok := t.index.set.Plugins.Get(id); !ok {
		return false
	}
	env := t.buildAlone(id)
	return env == nil || env.Gates(id)
}

// buildAlone returns what the agent would have with a plugin alone; nil if the plugin does
// not register.
func (t *template) buildAlone(id string) *execution.Env {
	plugin, _ := t.index.set.Plugins.Get(id)
	sections := make(map[plugins.Claim]any)
	for _, c := range t.index.claims[id] {
		sections[plugins.Claim{Plugin: id, Key: c.Key}] = c.settingsOf(t.agent.Sections[c.Key])
	}
	env, errs := execution.Build(t.agent, []execution.Loaded{{ID: id, Plugin: plugin, Core: true}}, sections)
	if len(errs) > 0 {
		return nil
	}
	return env
}

// settingsOf returns what a section decodes to, or the plugin's defaults when the
// section is not valid.
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

// reportUnclaimed reports the sections that nothing reads: as an error when they
// guard. One that does not and came with the defaults is left to Check, which
// knows whether any agent claims it.
func (t *template) reportUnclaimed() {
	for _, key := range slices.Sorted(maps.Keys(t.agent.Sections)) {
		if slices.Contains(t.claimed, key) {
			continue
		}
		rel, reader := diag.Key("sections", key), t.readerOf(key)
		if reader.guards {
			t.addError(reader.hint(diag.New(diag.UnclaimedSection, t.pathOf(rel),
				"section %q guards nothing: no plugin of agent %q claims it", key, t.agent.ID).
				WithSeverity(diag.Error)).ForAgent(t.agent.ID))
			continue
		}
		t.unclaimed = append(t.unclaimed, key)
		if !t.origin[rel] {
			t.addWarning(reader.hint(diag.New(diag.UnclaimedSection, t.pathOf(rel), "no plugin of agent %q claims section %q", t.agent.ID, key)))
		}
	}
}

// reportSilenced reports the plugins that guard and that active_hook_filter
// leaves out.
func (t *template) reportSilenced() {
	for i, id := range t.agent.PluginIDs {
		filter := t.agent.ActiveHookFilter
		if len(filter) == 0 || slices.Contains(filter, id) || slices.Contains(t.agent.PluginIDs[:i], id) {
			continue
		}
		guards := t.env.Gates(id) || slices.ContainsFunc(t.index.claims[id], func(c claim) bool { return c.Guards })
		if guards {
			t.addError(diag.New(diag.IgnoredField, t.pathOf(diag.Index("plugin_ids", i)), "plugin %q guards nothing: active_hook_filter leaves it out", id).
				WithHint("add it to active_hook_filter, or remove it from plugin_ids").ForAgent(t.agent.ID))
		}
	}
}

// reportIgnored reports the fields of an endpoint-backed agent that nothing
// reads: as an error when they guard.
func (t *template) reportIgnored() {
	if t.agent.Hosted() {
		t.reportUnmetered()
	}
	for _, f := range t.agent.RemoteFields() {
		switch {
		case !f.Set, f.Effect == spec.RemoteRead, f.Effect == spec.RemoteBudgets && t.holdsBudgets():
		case f.Effect == spec.RemoteSections:
			for _, key := range slices.Sorted(maps.Keys(t.agent.Sections)) {
				t.reportIgnoredField(diag.Key(f.Name, key), t.guardsKey(key) || t.readerOf(key).guards)
			}
		default:
			t.reportIgnoredField(f.Name, f.Effect != spec.RemoteIgnored)
		}
	}
}

// reportUnmetered reports the budgets that need the usage of a model, which providers
// do not report.
func (t *template) reportUnmetered() {
	b := t.agent.Budgets
	if b == nil {
		return
	}
	for field, set := range map[string]bool{"max_tokens": b.MaxTokens != nil, "max_cost": b.MaxCost != nil} {
		if set {
			t.reportIgnoredField(diag.Join("budgets", field), true)
		}
	}
}

// whyIgnored returns where an agent with an endpoint runs, and what to do about a field
// that guards nothing there.
func (t *template) whyIgnored() (where, hint string) {
	if t.agent.Hosted() {
		return "at a hosted provider", "only the provider can enforce it: configure it there and remove it here"
	}
	return "at an endpoint", "only the peer can enforce it: configure it there and remove it here"
}

// reportIgnoredField reports a field of an endpoint-backed agent that nothing reads.
func (t *template) reportIgnoredField(field string, guards bool) {
	where, hint := t.whyIgnored()
	d := diag.New(diag.IgnoredField, t.pathOf(field), "agent %q runs %s, where %s has no effect", t.agent.ID, where, field)
	if guards {
		t.addError(d.WithHint("%s", hint).ForAgent(t.agent.ID))
		return
	}
	t.addWarning(d.WithSeverity(diag.Warning).WithHint("remove it"))
}

// holdsBudgets reports whether the agent's backend holds turns to budgets. One
// that could not be made, or that panics, is reported as such.
func (t *template) holdsBudgets() bool {
	if t.remote == nil {
		return true
	}
	holds := true
	_ = callGuarded("Profile", func() { holds = t.remote.Profile().Budgets == backend.BudgetsEnforced })
	return holds
}
