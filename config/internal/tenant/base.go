package tenant

import (
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/document"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/spec"
)

// Base holds the rights of tenants and the entries that their overlays can change. It is read-only.
type Base struct {
	rights *spec.TenantRights
	// entries holds the entries of the registries that overlays can change.
	entries map[string]Entries
	// extends maps agents to the agent they extend, and extenders maps agents to their extenders.
	extends   map[string]string
	extenders map[string][]string
}

// Entries holds a registry's entries as they are in a document.
type Entries map[string]json.RawMessage

// NewBase returns a base with entries by registry.
func NewBase(rights *spec.TenantRights, entries map[string]Entries) *Base {
	b := &Base{rights: rights, entries: entries, extends: make(map[string]string), extenders: make(map[string][]string)}
	for id, entry := range entries[keys.Agents] {
		var agent struct {
			Extends string `json:"extends"`
		}
		if json.Unmarshal(entry, &agent) == nil && agent.Extends != "" {
			b.extends[id] = agent.Extends
			b.extenders[agent.Extends] = append(b.extenders[agent.Extends], id)
		}
	}
	for _, ids := range b.extenders {
		slices.Sort(ids)
	}
	return b
}

// SeenWith returns the base for a tenant that sees only these workflows.
func (b *Base) SeenWith(workflows []string) *Base {
	all := b.entries[keys.Workflows]
	if len(all) == len(workflows) {
		return b
	}
	seen := *b
	seen.entries = map[string]Entries{keys.Agents: b.entries[keys.Agents], keys.Tools: b.entries[keys.Tools], keys.Workflows: make(Entries, len(workflows))}
	for _, id := range workflows {
		seen.entries[keys.Workflows][id] = all[id]
	}
	return &seen
}

// has reports whether the configuration contains an entry.
func (b *Base) has(registry, id string) bool {
	_, ok := b.entries[registry][id]
	return ok
}

// reachedBy returns the agents and all agents that extend them, directly or indirectly.
func (b *Base) reachedBy(ids []string) []string {
	reached := slices.Clone(ids)
	for i := 0; i < len(reached); i++ {
		for _, next := range b.extenders[reached[i]] {
			if !slices.Contains(reached, next) {
				reached = append(reached, next)
			}
		}
	}
	return reached
}

// Excerpt returns a document with the entries that an overlay names, and the agents they extend.
func (b *Base) Excerpt(c *Changes) ([]byte, error) {
	needed := slices.Concat(c.Agents, c.Removed[keys.Agents], c.extended)
	for i := 0; i < len(needed); i++ {
		if below, ok := b.extends[needed[i]]; ok && !slices.Contains(needed, below) {
			needed = append(needed, below)
		}
	}
	doc := document.Object{{Name: "version", Value: json.RawMessage("1")}}
	for _, section := range []struct {
		registry string
		ids      []string
	}{
		{keys.Tools, slices.Concat(c.Tools, c.Removed[keys.Tools])}, {keys.Agents, needed},
		{keys.Workflows, slices.Concat(c.Workflows, c.Removed[keys.Workflows])},
	} {
		entries, err := b.entriesOf(section.registry, section.ids).Encode()
		if err != nil {
			return nil, err
		}
		if string(entries) != "{}" {
			doc = append(doc, rawjson.Member{Name: section.registry, Value: entries})
		}
	}
	return doc.Encode()
}

// entriesOf returns the entries of a registry with some ids, each once.
func (b *Base) entriesOf(registry string, ids []string) document.Object {
	var entries document.Object
	for _, id := range ids {
		if value, ok := b.entries[registry][id]; ok && rawjson.Find(entries, id) == nil {
			entries = append(entries, rawjson.Member{Name: id, Value: value})
		}
	}
	return entries
}

// HintUnmatched suggests an existing entry for a patch of an unknown one.
func (b *Base) HintUnmatched(found diag.Diagnostic) diag.Diagnostic {
	path, ok := diag.ParsePath(found.Path)
	if !ok || len(path) < 3 {
		return found
	}
	ids := make([]string, 0, len(b.entries[path[1].Key]))
	for id := range b.entries[path[1].Key] {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	found.Hint = ""
	if found = found.WithNearest(path[2].Key, ids); found.Hint == "" {
		found = found.WithHint("patches change entries of the configuration; define it under %s", path[1].Key)
	}
	return found
}
