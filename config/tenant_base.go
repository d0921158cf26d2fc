package config

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/document"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/spec"
)

// TenantBase is a configuration as a base for tenant overlays. It is safe for concurrent use.
type TenantBase struct {
	// Rights limits what overlays may do.
	Rights spec.TenantRights

	options Options
	// name is the document's name; relative paths start at its directory.
	name string
	// entries holds the entries, by id, of the registries that overlays can change.
	entries map[string]entriesByID
	// extends maps agents to the agent they extend, and extenders maps agents to their extenders.
	extends   map[string]string
	extenders map[string][]string
}

// entriesByID holds a registry's entries as they are in a document.
type entriesByID map[string]json.RawMessage

// ErrNoTenants reports a configuration that allows no tenant overlays.
var ErrNoTenants = errors.New("the configuration has no tenants.may, so tenants have no overlays: add tenants: {may: {}}")

// NewTenantBase reads a document returned by File.Document as a base for overlays. It returns
// ErrNoTenants if the configuration allows none.
func NewTenantBase(file *File, name string, document json.RawMessage) (*TenantBase, error) {
	if !file.TenantRules.HasOverlays() {
		return nil, ErrNoTenants
	}
	b := &TenantBase{
		Rights: *file.TenantRules.May, options: file.options, name: name,
		entries: make(map[string]entriesByID), extends: make(map[string]string), extenders: make(map[string][]string),
	}
	for _, registry := range []string{keys.Agents, keys.Tools, keys.Workflows} {
		list, err := file.patchedEntries(document, registry)
		if err != nil {
			return nil, err
		}
		b.entries[registry] = make(entriesByID, len(list))
		for _, e := range list {
			b.entries[registry][e.ID] = e.Value
		}
	}
	for id, entry := range b.entries[keys.Agents] {
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
	return b, nil
}

// patchedEntries returns the entries of a registry of the file's document, with patches applied.
func (f *File) patchedEntries(document json.RawMessage, registry string) ([]DocumentEntry, error) {
	if len(f.patched) == 0 {
		return DocumentEntries(document, registry)
	}
	_, section := f.declared.FindField(registry)
	if section == nil {
		return nil, nil
	}
	var list []DocumentEntry
	for id, entry := range section.Pairs {
		w := &documentWriter{file: f, base: f.BaseDir()}
		if err := w.writeEntry(registry, entry); err != nil {
			return nil, err
		}
		list = append(list, DocumentEntry{ID: id.Text, Value: w.Bytes()})
	}
	return list, nil
}

// has reports whether the configuration contains an entry.
func (b *TenantBase) has(registry, id string) bool {
	_, ok := b.entries[registry][id]
	return ok
}

// reachedBy returns the agents and all agents that extend them, directly or indirectly.
func (b *TenantBase) reachedBy(ids []string) []string {
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

// excerpt returns a document with the named entries by registry, and the agents they extend.
func (b *TenantBase) excerpt(named map[string][]string) ([]byte, error) {
	needed := slices.Clone(named[keys.Agents])
	for i := 0; i < len(needed); i++ {
		if below, ok := b.extends[needed[i]]; ok && !slices.Contains(needed, below) {
			needed = append(needed, below)
		}
	}
	doc := document.Object{{Name: "version", Value: json.RawMessage("1")}}
	for _, section := range []struct {
		registry string
		ids      []string
	}{{keys.Tools, named[keys.Tools]}, {keys.Agents, needed}, {keys.Workflows, named[keys.Workflows]}} {
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
func (b *TenantBase) entriesOf(registry string, ids []string) document.Object {
	var entries document.Object
	for _, id := range ids {
		if value, ok := b.entries[registry][id]; ok && rawjson.Find(entries, id) == nil {
			entries = append(entries, rawjson.Member{Name: id, Value: value})
		}
	}
	return entries
}
