package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/document"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// DocumentPatch is one patch of a document.
type DocumentPatch struct {
	// Registry and ID name the entry that it changes.
	Registry, ID string
	// Value is the patch; null removes the entry.
	Value json.RawMessage
}

// DocumentPatches returns the patches of a document, in their order.
func DocumentPatches(text json.RawMessage) ([]DocumentPatch, error) {
	registries, err := DocumentEntries(text, keys.Patches)
	if err != nil {
		return nil, err
	}
	var list []DocumentPatch
	for _, registry := range registries {
		if document.IsNull(registry.Value) || !slices.Contains(keys.Patchable, registry.ID) {
			continue
		}
		patches, err := document.DecodeObject(registry.Value)
		if err != nil {
			return nil, fmt.Errorf("read patches of %s: %w", registry.ID, err)
		}
		for _, p := range patches {
			list = append(list, DocumentPatch{registry.ID, p.Name, p.Value})
		}
	}
	return list, nil
}

// WithPatch returns a document with a patch that replaces the entry's existing one or follows all
// others. A nil value removes the patch. had reports whether there was one.
func WithPatch(text json.RawMessage, registry, id string, value json.RawMessage) (changed json.RawMessage, had bool, err error) {
	doc, err := document.DecodeObject(text)
	if err != nil {
		return nil, false, fmt.Errorf("change document: %w", err)
	}
	patches := rawjson.Find(doc, keys.Patches)
	if patches == nil || document.IsNull(patches) {
		patches = json.RawMessage("{}")
	}
	if patches, had, err = WithEntry(patches, registry, id, value); err != nil {
		return nil, had, err
	}
	if value == nil {
		if patches, err = withoutEmpty(patches); err != nil {
			return nil, had, err
		}
	}
	changed, err = doc.Set(keys.Patches, patches).Encode()
	return changed, had, err
}

// withoutEmpty returns patches without empty registries.
func withoutEmpty(patches json.RawMessage) (json.RawMessage, error) {
	members, err := document.DecodeObject(patches)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(members, func(m rawjson.Member) bool { return string(m.Value) == "{}" }).Encode()
}
