package config

import (
	"reflect"

	"github.com/agentruntime/agentruntime/spec"
)

// The record types of agents and of their defaults.
var (
	agentType    = reflect.TypeFor[agent]()
	defaultsType = reflect.TypeFor[spec.Defaults]()
)

// agent is an agent as declared in the files.
type agent struct {
	Extends string `json:"extends,omitempty" doc:"The agent to inherit fields from. Own fields override them: mappings merge key by key, lists and texts are replaced, and null clears a field."`
	spec.Agent
}
