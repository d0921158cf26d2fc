package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/document"
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
	if l, ok := document.LayoutOf(text); ok {
		return listEntries(l, l.Section(registry)), nil
	}
	doc, err := document.DecodeObject(text)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	value := rawjson.Find(doc, registry)
	if value == nil || document.IsNull(value) {
		return nil, nil
	}
	members, err := document.DecodeObject(value)
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
func listEntries(l *document.Layout, s *document.Section) []DocumentEntry {
	if s == nil || s.Entries == nil {
		return nil
	}
	list := make([]DocumentEntry, len(s.Entries))
	for i, m := range s.Entries {
		list[i] = DocumentEntry{ID: l.IDOf(m), Value: slices.Clip(l.ValueOf(m))}
	}
	return list
}

// WithEntry returns a document with a registry entry that replaces the one with the same id or
// follows all others. A nil value removes the entry. had reports whether there was one.
func WithEntry(text json.RawMessage, registry, id string, value json.RawMessage) (changed json.RawMessage, had bool, err error) {
	if l, ok := document.LayoutOf(text); ok {
		s := l.Section(registry)
		at := l.Find(s, id)
		switch {
		case s == nil || s.Entries == nil:
		case value == nil && at >= 0 && len(s.Entries) > 1:
			return l.WithoutEntry(s, at), true, nil
		case json.Valid(value):
			return l.WithEntry(s, at, id, value), at >= 0, nil
		}
	}
	doc, err := document.DecodeObject(text)
	if err != nil {
		return nil, false, fmt.Errorf("change document: %w", err)
	}
	var members document.Object
	if entries := rawjson.Find(doc, registry); entries != nil && !document.IsNull(entries) {
		if members, err = document.DecodeObject(entries); err != nil {
			return nil, false, fmt.Errorf("change document: %s: %w", registry, err)
		}
	}
	had = rawjson.Find(members, id) != nil
	if value == nil {
		members = members.Without(id)
	} else {
		members = members.Set(id, value)
	}
	entries, err := members.Encode()
	if err == nil {
		changed, err = doc.Set(registry, entries).Encode()
	}
	if err != nil {
		return nil, had, fmt.Errorf("change document: %w", err)
	}
	return changed, had, nil
}
