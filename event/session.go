package event

import "encoding/json"

// CustomPatch is a change of the application's own session state. The first patch of a turn, and
// the first after each resumption, replaces the whole document; later ones are diffs to apply in
// order.
type CustomPatch struct {
	// Patch has the operations add, remove and replace of RFC 6902.
	Patch []PatchOperation `json:"patch"`
}

// PatchOperation changes one place of a JSON document.
type PatchOperation struct {
	// Op is add, remove or replace.
	Op string `json:"op"`
	// Path is a JSON Pointer; empty means the whole document.
	Path string `json:"path"`
	// Value is the new value; nil for remove.
	Value json.RawMessage `json:"value,omitempty"`
}

// Artifact reports that the turn keeps something that is not part of the conversation. An artifact
// with a name replaces the previous one of that name.
type Artifact struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	// Size is in bytes.
	Size int `json:"size"`
}

// Type returns TypeCustomPatch.
func (*CustomPatch) Type() Type { return TypeCustomPatch }

// Type returns TypeArtifact.
func (*Artifact) Type() Type { return TypeArtifact }
