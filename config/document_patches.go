package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// DocumentPatch is one patch of a document.
type DocumentPatch struct {
	// Registry and ID name the entry that it changes.
	Registry, ID string
	// Value is the patch; null removes the entry.
	Value json.RawMessage
}

// withoutPatches returns the file without its patches. It returns nil for a file without patches,
// and if its patches cannot stay patches: patches of several files are applied in order, and
// entries that are invalid without them would not be read completely.
func (f *File) withoutPatches() *File {
	if len(f.documents) != 1 || len(f.patched) == 0 {
		return nil
	}
	opts := f.options
	opts.RequireVariables = false
	doc := f.documents[0]
	bare, found := parseBare(Source{Name: doc.Name, Data: doc.Data}, opts, f.included)
	if found.HasErrors() {
		return nil
	}
	return bare
}

// writePatches writes a file's patches unchanged.
func (w *documentWriter) writePatches() error {
	w.keepsPaths = true
	_, patches := w.file.documents[0].Root.FindField(keys.Patches)
	w.WriteName(keys.Patches)
	w.WriteByte('{')
	for key, value := range patches.Pairs {
		if isExtension(key.Text) || value.Kind == yamltree.Null || value.Kind == yamltree.Mapping && len(value.Children) == 0 {
			continue
		}
		w.WriteName(key.Text)
		if err := w.writeNode(value); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

// DocumentPatches returns the patches of a document, in their order.
func DocumentPatches(document json.RawMessage) ([]DocumentPatch, error) {
	registries, err := DocumentEntries(document, keys.Patches)
	if err != nil {
		return nil, err
	}
	var list []DocumentPatch
	for _, registry := range registries {
		if isNullJSON(registry.Value) || !slices.Contains(keys.Patchable, registry.ID) {
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

// WithPatch returns a document with a patch that replaces the entry's existing one or follows all
// others. A nil value removes the patch. had reports whether there was one.
func WithPatch(document json.RawMessage, registry, id string, value json.RawMessage) (changed json.RawMessage, had bool, err error) {
	doc, err := decodeMembers(document)
	if err != nil {
		return nil, false, fmt.Errorf("change document: %w", err)
	}
	patches := doc.find(keys.Patches)
	if patches == nil || isNullJSON(patches) {
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
	changed, err = doc.set(keys.Patches, patches).encode()
	return changed, had, err
}

// withoutEmpty returns patches without empty registries.
func withoutEmpty(patches json.RawMessage) (json.RawMessage, error) {
	members, err := decodeMembers(patches)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(members, func(m rawMember) bool { return string(m.value) == "{}" }).encode()
}
