package resolve

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/tools"
)

// permissionKey is the section that permission rules stand in, whichever plugin
// claims it.
const permissionKey = "permission"

// warn collects what is probably not meant. The merged tools are those before
// the catalog filter.
func (t *template) warn(merged []*tools.Entry, catalog *tools.Catalog) {
	ids := make([]string, 0, len(merged)+len(t.index.toolIDs))
	ids = append(ids, t.index.toolIDs...)
	for _, entry := range merged {
		if entry.Source.Kind != tools.SourceGlobal {
			ids = append(ids, entry.ID)
		}
	}
	slices.Sort(ids)
	t.warnCatalog(ids, catalog)
	t.warnPermissionRules(ids)
	t.warnHookFilter()
	for _, key := range t.unclaimed {
		t.warnUnclaimed(key)
	}
	if t.tools.Len() == 0 && len(ids) > 0 {
		t.warning(diag.New(diag.NoTools, t.path(""), "the catalog leaves agent %q with no tool; registered: %d", t.agent.ID, len(ids)))
	}
}

func (t *template) warnCatalog(ids []string, catalog *tools.Catalog) {
	patterns, literals := catalog.Unmatched(ids)
	for _, d := range patterns {
		if d.Entry != "" && !permissionShaped(d.Entry) {
			t.warning(diag.New(diag.UnmatchedPattern, t.entryPath(d), "pattern %q matches no registered tool", d.Entry))
		}
	}
	for _, d := range literals {
		if permissionShaped(d.Entry) {
			continue
		}
		w := diag.New(diag.UnmatchedTool, t.entryPath(d), "%q names no registered tool", d.Entry)
		if strings.ContainsAny(d.Entry, "*?[{") {
			w = w.WithHint("%s holds literal ids; patterns belong in %s", d.Field, patternField(d.Field))
		} else if near := t.nearestTool(d.Entry, ids); near != "" {
			w = w.WithHint("did you mean %q?", near)
		}
		t.warning(w)
	}
	for _, field := range []struct {
		name    tools.Field
		entries []string
	}{
		{tools.FieldAllowedTools, t.agent.AllowedTools},
		{tools.FieldAllowedToolPatterns, t.agent.AllowedToolPatterns},
		{tools.FieldExcludedTools, t.agent.ExcludedTools},
		{tools.FieldExcludedToolPatterns, t.agent.ExcludedToolPatterns},
	} {
		for i, entry := range field.entries {
			if permissionShaped(entry) {
				t.warning(diag.New(diag.PermissionShapedEntry, t.path(diag.Index(string(field.name), i)),
					"%q looks like a permission rule; a catalog entry is only a tool id or pattern", entry).
					WithHint("write it under sections.permission.rules"))
			}
		}
	}
}

// nearestTool looks for a near match among the tools of this agent.
func (t *template) nearestTool(id string, ids []string) string {
	near, _ := nearest.Of(id, ids)
	return near
}

func patternField(f tools.Field) tools.Field {
	if f == tools.FieldAllowedTools {
		return tools.FieldAllowedToolPatterns
	}
	return tools.FieldExcludedToolPatterns
}

func (t *template) entryPath(d tools.Decision) string {
	return t.path(diag.Index(string(d.Field), d.Index))
}

// permissionShaped reports whether an entry has the form name(…), with
// something between the first parenthesis and the last character.
func permissionShaped(entry string) bool {
	open := strings.IndexByte(entry, '(')
	return open >= 0 && strings.HasSuffix(entry, ")") && len(entry)-1 > open+1
}

// warnPermissionRules warns of rules that name a tool the agent does not have.
func (t *template) warnPermissionRules(ids []string) {
	raw, ok := t.agent.Sections[permissionKey]
	if !ok {
		return
	}
	var section struct {
		Rules []struct {
			Tool string `json:"tool"`
		} `json:"rules"`
	}
	if json.Unmarshal(raw, &section) != nil {
		return // its schema has complained already
	}
	seen := make(map[string]bool)
	for i, rule := range section.Rules {
		name, literal := ruleTool(rule.Tool)
		if !literal || seen[name] || t.tools.Get(name) != nil {
			continue
		}
		seen[name] = true
		path := t.path(diag.Index(diag.Join(diag.Key("sections", permissionKey), "rules"), i) + ".tool")
		if _, registered := slices.BinarySearch(ids, name); registered {
			t.warning(diag.New(diag.OrphanPermissionRule, path, "the rule names tool %q, which the catalog filtered out", name))
			continue
		}
		w := diag.New(diag.OrphanPermissionRule, path, "the rule names tool %q, which is unknown", name)
		if near := t.nearestTool(name, ids); near != "" {
			w = w.WithHint("did you mean %q?", near)
		}
		t.warning(w)
	}
}

// ruleTool returns the tool that a permission rule names; literal is false for
// a pattern, a regular expression, or nothing.
func ruleTool(rule string) (name string, literal bool) {
	name, _, _ = strings.Cut(rule, "(")
	name = strings.TrimSpace(name)
	regex := len(name) > 1 && strings.HasPrefix(name, "/") && strings.HasSuffix(name, "/")
	return name, name != "" && !regex && !strings.ContainsAny(name, "*?[{")
}

func (t *template) warnHookFilter() {
	loaded := make([]string, len(t.loaded))
	for i := range t.loaded {
		loaded[i] = t.loaded[i].ID
	}
	for i, id := range t.agent.ActiveHookFilter {
		if slices.Contains(loaded, id) || slices.Contains(t.agent.PluginIDs, id) {
			continue
		}
		w := diag.New(diag.UnknownHookFilter, t.path(diag.Index("active_hook_filter", i)), "plugin %q is not loaded by this agent", id)
		if near, ok := nearest.Of(id, loaded); ok {
			w = w.WithHint("did you mean %q?", near)
		} else if _, ok := t.index.set.Plugins.Get(id); ok {
			w = w.WithHint("add it to plugin_ids")
		}
		t.warning(w)
	}
}

// warnUnclaimed warns of a section that no loaded plugin claims. One that came
// with the defaults is left to Check, which knows whether any agent claims it.
func (t *template) warnUnclaimed(key string) {
	rel := diag.Key("sections", key)
	if t.origin[rel] {
		return
	}
	w := diag.New(diag.UnclaimedSection, t.path(rel), "no plugin of agent %q claims section %q", t.agent.ID, key)
	t.warning(t.unclaimedHint(w, key))
}

func (t *template) unclaimedHint(w diag.Diagnostic, key string) diag.Diagnostic {
	for _, id := range t.index.set.Plugins.IDs() {
		for _, c := range t.index.claims[id] {
			if c.Key == key {
				return w.WithHint("plugin %q claims it: add it to plugin_ids", id)
			}
		}
	}
	claimed := make([]string, 0, len(t.claimed))
	for key := range t.claimed {
		claimed = append(claimed, key)
	}
	slices.Sort(claimed)
	if near, ok := nearest.Of(key, claimed); ok {
		return w.WithHint("did you mean %q?", near)
	}
	return w
}
