// Package plugins is the API for plugin authors: the Plugin interface, the Registrar for
// declarations, the phases of a turn and their context, gates, and typed state. Package execution
// runs an agent's plugins; the other sub-packages are the plugins included with the runtime.
package plugins

import (
	"encoding/json"
	"log/slog"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// Plugin extends the agent loop. Its only name is its registered id: plugin_ids,
// active_hook_filter, messages and traces all use it.
//
// Descriptor is called when a revision is published and must always return the same value. Register
// is called for every resolve, concurrently, and must not contact other systems: a dry run also
// calls it. A plugin keeps no turn state in its own struct; Register creates that state and closes
// over it.
type Plugin interface {
	Descriptor() Descriptor
	Register(r *Registrar) error
}

// Descriptor describes a plugin.
type Descriptor struct {
	// Summary describes the plugin in one sentence.
	Summary string
	// Sections are the agent sections that the plugin claims.
	Sections []Section
}

// Section is one key below an agent's sections that a plugin claims.
type Section struct {
	// Key is the name of the section.
	Key string
	// Summary describes the section in one sentence.
	Summary string
	// Schema is the JSON Schema that the section must satisfy.
	Schema json.RawMessage
	// Guards is set if the section limits what an agent may do. It is then an error, not a
	// warning, if an agent has the section but no plugin that reads it. A plugin that registers a
	// gate guards implicitly.
	Guards bool
	// Decode converts a section that satisfies the schema into the value that Register reads with
	// Config; raw is nil when the agent lacks the section. It runs once per agent and revision,
	// so expensive work belongs here. Its diagnostics have paths relative to the section. Nil
	// keeps the raw JSON.
	Decode func(raw json.RawMessage) (any, diag.List)
}

// NewSection returns a section whose settings decode to a T. All resolves of a revision share the
// value that decode returns: treat it as read-only.
func NewSection[T any](key, summary string, schema json.RawMessage, decode func(raw json.RawMessage) (T, diag.List)) Section {
	return Section{
		Key: key, Summary: summary, Schema: schema,
		Decode: func(raw json.RawMessage) (any, diag.List) { return decode(raw) },
	}
}

// AsGuard returns the section with Guards set.
func (s Section) AsGuard() Section {
	s.Guards = true
	return s
}

// Claim is one plugin's claim of a section.
type Claim struct {
	// Plugin is the plugin's id, and Key the name of the section.
	Plugin, Key string
}

// Settings are passed to the factory of a plugin in a configuration file.
type Settings struct {
	// ID is the plugin's id.
	ID string
	// Logger writes to the runtime's log, under the plugin's name.
	Logger *slog.Logger

	_ struct{} // keyed literals only
}

// Kind is one value of a plugin's type field in a configuration file.
type Kind = spec.Kind[Settings, Plugin]
