package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// DocumentEntry is one entry of a document's registry.
type DocumentEntry struct {
	ID    string
	Value json.RawMessage
}

// DocumentEntries returns the entries of one of a document's registries, such as agents, in
// order. The document must come from File.Document.
func DocumentEntries(text json.RawMessage, registry string) ([]DocumentEntry, error) {
	if l, ok := layoutOf(text); ok {
		return listEntries(l, l.section(registry)), nil
	}
	doc, err := decodeMembers(text)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	value := rawjson.Find(doc, registry)
	if value == nil || isNullJSON(value) {
		return nil, nil
	}
	members, err := decodeMembers(value)
	if err != nil {
		return nil, fmt.Errorf("read document: %s: %w", registry, err)
	}
	list := make([]DocumentEntry, len(members))
	for i, m := range members {
		list[i] = DocumentEntry{ID: m.Name, Value: m.Value}
	}
	return list, nil
}

// listEntries returns a registry's entries, if it exists.
func listEntries(l *layout, s *placedSection) []DocumentEntry {
	if s == nil || s.entries == nil {
		return nil
	}
	list := make([]DocumentEntry, len(s.entries))
	for i, m := range s.entries {
		list[i] = DocumentEntry{ID: l.idOf(m), Value: slices.Clip(l.valueOf(m))}
	}
	return list
}

// WithEntry returns a document with a registry entry that replaces the one with the same id or
// follows all others. A nil value removes the entry. had reports whether there was one.
func WithEntry(text json.RawMessage, registry, id string, value json.RawMessage) (changed json.RawMessage, had bool, err error) {
	if l, ok := layoutOf(text); ok {
		s := l.section(registry)
		at := l.find(s, id)
		switch {
		case s == nil || s.entries == nil:
		case value == nil && at >= 0 && len(s.entries) > 1:
			return l.withoutEntry(s, at), true, nil
		case json.Valid(value):
			return l.withEntry(s, at, id, value), at >= 0, nil
		}
	}
	doc, err := decodeMembers(text)
	if err != nil {
		return nil, false, fmt.Errorf("change document: %w", err)
	}
	var members rawObject
	if entries := rawjson.Find(doc, registry); entries != nil && !isNullJSON(entries) {
		if members, err = decodeMembers(entries); err != nil {
			return nil, false, fmt.Errorf("change document: %s: %w", registry, err)
		}
	}
	had = rawjson.Find(members, id) != nil
	if value == nil {
		members = members.without(id)
	} else {
		members = members.set(id, value)
	}
	entries, err := members.encode()
	if err == nil {
		changed, err = doc.set(registry, entries).encode()
	}
	if err != nil {
		return nil, had, fmt.Errorf("change document: %w", err)
	}
	return changed, had, nil
}
