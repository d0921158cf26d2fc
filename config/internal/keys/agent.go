package keys

import (
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/spec"
)

// The record types of agents and of their defaults.
var (
	AgentType    = reflect.TypeFor[Agent]()
	DefaultsType = reflect.TypeFor[spec.Defaults]()
)

// Agent is an agent as declared in the files.
type Agent struct {
	Extends string `json:"extends,omitempty" doc:"The agent to inherit fields from. Own fields override them: mappings merge key by key, lists and texts are replaced, and null clears a field."`
	spec.Agent
}

// IsNamesField reports whether null is a valid value of an agent's field, meaning an empty list of
// names.
func IsNamesField(name string) bool {
	f := record.Of(AgentType).ByName[name]
	return f != nil && record.ShapeOf(f.Type) == record.NamesShape
}
