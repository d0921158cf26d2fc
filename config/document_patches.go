package config

import (
	"encoding/json"
	"fmt"
)

// DocumentPatch is one patch of a document.
type DocumentPatch struct {
	// Registry and ID name the entry that it changes.
	Registry, ID string
	// Value is the patch; null removes the entry.
	Value json.RawMessage
}

// DocumentPatches returns the patches of a document, in their order. The document is an
// overlay as TenantOverlay has it.
func DocumentPatches(document json.RawMessage) ([]DocumentPatch, error) {
	registries, err := DocumentEntries(document, patchesKey)
	if err != nil {
		return nil, err
	}
	var list []DocumentPatch
	for _, registry := range registries {
		if isNullJSON(registry.Value) {
			continue
		}
		patches, err := decodeMembers(registry.Value)
		if err != nil {
			return nil, fmt.Errorf("read patches of %s: %w", registry.ID, err)
		}
		for _, p := range patches {
			list = append(list, DocumentPatch{registry.ID, p.name, p.value})
		}
	}
	return list, nil
}

// WithPatch returns a document with a patch, in the place of the one of the same entry or
// after all others. A nil value removes the patch. had reports whether there was one.
func WithPatch(document json.RawMessage, registry, id string, value json.RawMessage) (changed json.RawMessage, had bool, err error) {
	doc, err := decodeMembers(document)
	if err != nil {
		return nil, false, fmt.Errorf("change document: %w", err)
	}
	patches := doc.find(patchesKey)
	if patches == nil || isNullJSON(patches) {
		patches = json.RawMessage("{}")
	}
	if patches, had, err = WithEntry(patches, registry, id, value); err != nil {
		return nil, had, err
	}
	changed, err = doc.set(patchesKey, patches).encode()
	return changed, had, err
}
