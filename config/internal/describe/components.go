// Package describe describes the files of a configuration, or other records, for people and
// editors: the JSON Schema, the reference page, and a first file.
package describe

import (
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/plugins"
)

// Components are the components of the program whose files are described.
type Components struct {
	// Kinds are the kinds of components, by registry.
	Kinds map[string][]record.Kind
	// Sections are the agent sections that are claimed.
	Sections []plugins.Section
	// RecordOf describes a struct type without the parts that the program lacks.
	RecordOf func(t reflect.Type) *record.Type
}
