package resolve

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// warnAll adds the warnings, except those that only follow from a reported error.
func (m *merger) warnAll(catalog *toolset.Filter) {
	ids := m.toolIDs()
	explained := m.unreadable || m.broken
	if !m.broken {
		explained = m.warnUnmatched(ids, catalog) || explained
		m.warnToolBudgets(ids)
	}
	explained = m.warnPermissionShaped() || explained
	m.warnNoEffect(ids, catalog)
	m.checkPermissionRules(ids, catalog)
	m.warnHookFilter()
	m.reportUnclaimed()
	visible := func(id string) bool { return catalog.Decide(id).Visible }
	m.toolless = len(m.seen.entries) == 0 && len(ids) > 0 && !m.wantsNoTools() && !slices.ContainsFunc(ids, visible)
	m.anyTool = m.anyTool || m.toolless
	if m.toolless && !explained {
		m.addWarning(diag.New(diag.NoTools, m.pathOf(""), "the catalog leaves agent %q with no tool; registered: %d", m.agent.ID, len(ids)))
	}
}

// wantsNoTools reports whether the agent's catalog explicitly allows no tools, as
// allowed_tools: [] does.
func (m *merger) wantsNoTools() bool {
	a := m.agent
	return (a.AllowedTools != nil || a.AllowedToolPatterns != nil) && len(a.AllowedTools)+len(a.AllowedToolPatterns) == 0
}

// warnUnmatched warns about catalog entries that match no tool. It reports whether one of them was
// meant to allow something.
func (m *merger) warnUnmatched(ids []string, catalog *toolset.Filter) (allows bool) {
	patterns, literals := catalog.Unmatched(ids)
	m.anyTool = m.anyTool || len(patterns)+len(literals) > 0
	for _, d := range patterns {
		if d.Entry != "" && !permissionShaped(d.Entry) && !m.index.set.Expected(d.Entry) {
			w := diag.New(diag.UnmatchedPattern, m.entryPath(d), "pattern %q matches no registered tool", d.Entry)
			if strings.HasPrefix(d.Entry, "^") || strings.HasSuffix(d.Entry, "$") || strings.Contains(d.Entry, ".*") {
				w = w.WithHint("patterns are globs, not regular expressions: * matches any text, and the whole id must match")
			}
			m.addWarning(w)
			allows = allows || d.Field == toolset.FieldAllowedToolPatterns
		}
	}
	for _, d := range literals {
		if permissionShaped(d.Entry) || m.index.set.Expected(d.Entry) {
			continue
		}
		w := diag.New(diag.UnmatchedTool, m.entryPath(d), "%q names no registered tool", d.Entry)
		if strings.TrimSpace(d.Entry) == "" {
			w = w.WithHint("write the id of a tool, or remove the entry; %s: [] names no tools", d.Field)
		} else if strings.ContainsAny(d.Entry, "*?[{") {
			w = w.WithHint("%s holds literal ids; patterns belong in %s", d.Field, patternField(d.Field))
		} else if near := m.nearestTool(d.Entry, ids); near != "" {
			w = w.WithHint("did you mean %q?", near)
			m.wanted = append(m.wanted, near)
		}
		m.addWarning(w)
		allows = allows || d.Field == toolset.FieldAllowedTools
	}
	return allows
}

// warnToolBudgets warns about budgets of nonexistent tools.
func (m *merger) warnToolBudgets(ids []string) {
	for _, name := range slices.Sorted(maps.Keys(m.agent.ToolBudgets)) {
		m.dependOn(onTool, name)
		if _, ok := slices.BinarySearch(ids, name); ok {
			continue
		}
		m.anyTool = true
		if m.index.set.Expected(name) {
			continue
		}
		w := diag.New(diag.UnmatchedTool, m.pathOf(diag.Key("tool_budgets", name)), "%q names no registered tool", name).AtKey()
		if near := m.nearestTool(name, ids); near != "" {
			w = w.WithHint("did you mean %q?", near)
		}
		m.addWarning(w)
	}
}

// warnPermissionShaped warns about catalog entries that look like permission rules. It reports
// whether one of them was meant to allow something.
func (m *merger) warnPermissionShaped() (allows bool) {
	for _, field := range []struct {
		name    toolset.Field
		entries []string
	}{
		{toolset.FieldAllowedTools, m.agent.AllowedTools},
		{toolset.FieldAllowedToolPatterns, m.agent.AllowedToolPatterns},
		{toolset.FieldExcludedTools, m.agent.ExcludedTools},
		{toolset.FieldExcludedToolPatterns, m.agent.ExcludedToolPatterns},
	} {
		for i, entry := range field.entries {
			if permissionShaped(entry) {
				name, _ := ruleTool(entry)
				m.wanted = append(m.wanted, name)
				allows = allows || field.name == toolset.FieldAllowedTools || field.name == toolset.FieldAllowedToolPatterns
				m.addWarning(diag.New(diag.PermissionShapedEntry, m.pathOf(diag.Index(string(field.name), i)),
					"%q looks like a permission rule; a catalog entry is only a tool id or pattern", entry).
					WithHint("write it under sections.permission.rules"))
			}
		}
	}
	return allows
}

// nearestTool finds a near match among this agent's tools.
func (m *merger) nearestTool(id string, ids []string) string {
	if call := agenttool.DelegatePrefix + id; slices.Contains(ids, call) {
		return call
	}
	near, _ := nearest.Of(id, ids)
	return near
}

func patternField(f toolset.Field) toolset.Field {
	if f == toolset.FieldAllowedTools {
		return toolset.FieldAllowedToolPatterns
	}
	return toolset.FieldExcludedToolPatterns
}

func (m *merger) entryPath(d toolset.Decision) string {
	return m.pathOf(diag.Index(string(d.Field), d.Index))
}

// permissionShaped reports whether an entry has the form name(…), with
// something between the first parenthesis and the last character.
func permissionShaped(entry string) bool {
	open := strings.IndexByte(entry, '(')
	return open >= 0 && strings.HasSuffix(entry, ")") && len(entry)-1 > open+1
}

// checkPermissionRules reports rules that name a tool the agent does not have, as errors if nothing
// provides the tool and the rule was written to restrict it.
func (m *merger) checkPermissionRules(ids []string, catalog *toolset.Filter) {
	raw, ok := m.agent.Sections[permissionKey]
	if !ok {
		return
	}
	var section struct {
		Default string `json:"default_behavior"`
		Rules   []struct {
			Tool     string `json:"tool"`
			Behavior string `json:"behavior"`
		} `json:"rules"`
	}
	if json.Unmarshal(raw, &section) != nil {
		return // its schema already reported it
	}
	seen := make(map[string]bool)
	for i, rule := range section.Rules {
		name, literal := ruleTool(rule.Tool)
		path := m.pathOf(diag.Index(diag.Join(diag.Key("sections", permissionKey), "rules"), i) + ".tool")
		if !literal && !seen[name] && restricts(rule.Behavior, section.Default) {
			seen[name] = true
			m.checkRulePattern(name, path, ids)
		}
		_, registered := slices.BinarySearch(ids, name)
		if literal {
			m.dependOn(onTool, name)
			m.anyTool = m.anyTool || !registered
		}
		if !literal || seen[name] || registered && !m.isHidden(catalog, name) || !registered && (m.broken || m.index.set.Expected(name)) {
			continue
		}
		seen[name] = true
		m.wanted = append(m.wanted, name)
		switch {
		case registered:
			m.addWarning(diag.New(diag.OrphanPermissionRule, path, "the rule names tool %q, which the catalog filtered out", name))
		case m.isProvidedElsewhere(name):
			m.addWarning(diag.New(diag.OrphanPermissionRule, path, "the rule names tool %q, which agent %q does not have", name, m.agent.ID))
		case restricts(rule.Behavior, section.Default):
			m.addError(m.hintNearest(diag.New(diag.UnknownRuleTool, path, "the rule names tool %q, which does not exist, so it restricts nothing", name), name, ids).ForAgent(m.agent.ID))
		default:
			m.addWarning(m.hintNearest(diag.New(diag.OrphanPermissionRule, path, "the rule names tool %q, which is unknown", name), name, ids))
		}
	}
}

// toolFamilies are the id prefixes of tools that configurations and turns get without naming them.
// Rules for a whole family also apply to tools added later.
var toolFamilies = []string{"mcp__", agenttool.DelegatePrefix, agenttool.HandoffPrefix}

// checkRulePattern warns about a glob with a fixed beginning that restricts no tool of the
// revision, if all tools that it could match are known. It may be meant for clients' tools.
func (m *merger) checkRulePattern(glob, path string, ids []string) {
	p, err := pattern.Compile(glob)
	fixed := glob[:max(strings.IndexAny(glob, `*?[{\`), 0)]
	isGeneral := strings.HasPrefix(glob, "/") || slices.ContainsFunc(toolFamilies, func(prefix string) bool { return strings.HasPrefix(prefix, fixed) })
	if err != nil || isGeneral || slices.ContainsFunc(ids, p.Match) {
		return
	}
	m.anyTool = true
	mayBring := m.index.set.Tenants != nil && m.index.set.Tenants.May != nil && len(m.index.set.Tenants.May.Kinds) > 0
	if m.broken || mayBring || m.index.set.Tenant != "" || m.index.set.Expected(glob) || m.isMatchedElsewhere(p, fixed) {
		return
	}
	d := diag.New(diag.OrphanPermissionRule, path, "the rule names tools %q, of which none exists", glob).
		WithHint("for tools that clients bring write a regular expression, such as %q", "/^"+regexp.QuoteMeta(fixed)+"/")
	if near, ok := nearest.Of(fixed, prefixesOf(ids, fixed[len(fixed)-1])); ok {
		d = d.WithHint("did you mean %q?", near+glob[len(fixed):])
	}
	m.addWarning(d)
}

// prefixesOf returns the prefixes of texts that end in a given character.
func prefixesOf(texts []string, end byte) []string {
	var list []string
	for _, text := range texts {
		for i := range len(text) {
			if text[i] == end && !slices.Contains(list, text[:i+1]) {
				list = append(list, text[:i+1])
			}
		}
	}
	return list
}

// isMatchedElsewhere reports whether other agents of the revision have a tool that a glob with a
// fixed beginning matches, or may have one once their peers are queried.
func (m *merger) isMatchedElsewhere(p pattern.Pattern, fixed string) bool {
	m.anySource, m.anyPlugin = true, true
	leadsToAgent := strings.HasPrefix(fixed, agenttool.DelegatePrefix) || strings.HasPrefix(fixed, agenttool.HandoffPrefix)
	return leadsToAgent && len(m.index.set.Sources.IDs()) > 0 || slices.ContainsFunc(m.index.set.AgentIDs(), func(id string) bool {
		return p.Match(agenttool.DelegateID(id)) || p.Match(agenttool.HandoffID(id))
	}) || m.isBrought(p.Match)
}

// isBrought reports whether a plugin of the revision has a matching tool, or may have one.
func (m *merger) isBrought(match func(id string) bool) bool {
	return slices.ContainsFunc(m.index.set.Plugins.IDs(), func(id string) bool {
		env := m.buildAlone(id)
		return env == nil || slices.ContainsFunc(env.Tools(), func(p execution.PluginTool) bool { return match(p.ID) })
	})
}

// restricts reports whether a rule is stricter than the default, which is ask.
func restricts(behavior, byDefault string) bool {
	order := []string{"allow", "ask", "deny", "terminate"}
	return slices.Index(order, behavior) > slices.Index(order, cmp.Or(byDefault, "ask"))
}

// hintNearest suggests the intended tool, or a pattern for tools that only turns supply.
func (m *merger) hintNearest(d diag.Diagnostic, name string, ids []string) diag.Diagnostic {
	if near := m.nearestTool(name, ids); near != "" {
		return d.WithHint("did you mean %q?", near)
	}
	if d.Code == diag.UnknownRuleTool {
		return d.WithHint("for a tool that clients bring write a regular expression, such as %q", "/^"+regexp.QuoteMeta(name)+"$/")
	}
	return d
}

// isProvidedElsewhere reports whether other agents of the revision have a tool that this one lacks,
// or may have it once their peers are queried.
func (m *merger) isProvidedElsewhere(name string) bool {
	leadsToAgent := strings.HasPrefix(name, agenttool.DelegatePrefix) || strings.HasPrefix(name, agenttool.HandoffPrefix)
	if leadsToAgent {
		m.anySource = true
		for _, id := range m.index.set.AgentIDs() {
			if name == agenttool.DelegateID(id) || name == agenttool.HandoffID(id) {
				m.dependOn(onAgent, id)
				return true
			}
		}
		return len(m.index.set.Sources.IDs()) > 0
	}
	m.anyPlugin = true
	return m.isBrought(func(id string) bool { return id == name })
}

// ruleTool returns the tool that a permission rule names; literal is false for
// a pattern, a regular expression, or nothing.
func ruleTool(rule string) (name string, literal bool) {
	name, _, _ = strings.Cut(rule, "(")
	name = strings.TrimSpace(name)
	regex := len(name) > 1 && strings.HasPrefix(name, "/") && strings.HasSuffix(name, "/")
	return name, name != "" && !regex && !strings.ContainsAny(name, "*?[{")
}

func (m *merger) warnHookFilter() {
	loaded := make([]string, len(m.loaded))
	for i := range m.loaded {
		loaded[i] = m.loaded[i].ID
	}
	for i, id := range m.agent.ActiveHookFilter {
		if slices.Contains(loaded, id) || slices.Contains(m.agent.PluginIDs, id) {
			continue
		}
		m.dependOn(onPlugin, id)
		w := diag.New(diag.UnknownHookFilter, m.pathOf(diag.Index("active_hook_filter", i)), "plugin %q is not loaded by this agent", id)
		if near, ok := nearest.Of(id, loaded); ok {
			w = w.WithHint("did you mean %q?", near)
		} else if _, ok := m.index.set.Plugins.Get(id); ok {
			w = w.WithHint("add it to plugin_ids")
		}
		m.addWarning(w)
	}
}
