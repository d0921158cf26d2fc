package toolschema

import (
	"encoding/json"
	"slices"
)

// Mapped is a schema that a vendor accepts.
type Mapped struct {
	Schema json.RawMessage
	// Dropped are the constraints hidden from the vendor; nil if the schema accepts the same
	// objects as the original.
	Dropped []string
	// Note tells the model which constraints were dropped at the root; empty if none. Descriptions
	// within the schema mention the others.
	Note string
}

// Describe returns a tool's description extended with the constraints missing from its schema.
func (m *Mapped) Describe(description string) string {
	if m.Note == "" || description == "" {
		return description + m.Note
	}
	return description + "\n\n" + m.Note
}

func (m *Mapped) drop(names ...string) {
	for _, name := range names {
		if !slices.Contains(m.Dropped, name) {
			m.Dropped = append(m.Dropped, name)
		}
	}
}

// longestNote limits a description's note about dropped constraints, in bytes.
const longestNote = 600

// note returns the note that tells the model about constraints.
func note(subject string, told fields) string {
	text := encode(told)
	if len(told) == 0 || len(text) > longestNote {
		return ""
	}
	return subject + " must also satisfy this JSON Schema: " + string(text)
}
