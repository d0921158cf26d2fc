package spec

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// maxVariables bounds the schema of an agent's variables as compact JSON, in bytes.
const maxVariables = 32 << 10

// Variables are the variables that turns may pass to an agent.
type Variables struct {
	// Properties are the schemas of the variables by name.
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Type       json.RawMessage            `json:"type"`
}

// DeclaredVariables returns the variables that the agent declares. It returns none if the agent
// declares none or if Validate rejects the declaration.
func (a *Agent) DeclaredVariables() Variables {
	var v Variables
	if len(a.Variables) > 0 && json.Unmarshal(a.Variables, &v) != nil {
		return Variables{}
	}
	return v
}

// Names returns the names of the variables, sorted.
func (v *Variables) Names() []string { return slices.Sorted(maps.Keys(v.Properties)) }

// validateVariables checks the declaration of variables, and that the prompt refers to no others.
// The JSON Schema itself is checked when it is compiled.
func (a *Agent) validateVariables() diag.List {
	var declared Variables
	if len(a.Variables) > 0 {
		var compact bytes.Buffer
		err := json.Unmarshal(a.Variables, &declared)
		switch {
		case bytes.TrimSpace(a.Variables)[0] != '{' || err != nil, declared.Type != nil && string(declared.Type) != `"object"`:
			return diag.List{diag.New(diag.InvalidSchema, "variables", "variables must be a JSON Schema of type object").
				WithHint("write variables: {type: object, properties: {name: {type: string}}, required: [name]}")}
		case json.Compact(&compact, a.Variables) == nil && compact.Len() > maxVariables:
			return diag.List{diag.New(diag.InvalidSchema, "variables", "variables has %d bytes as JSON; at most %d are allowed", compact.Len(), maxVariables)}
		}
	}
	var list diag.List
	names := declared.Names()
	for _, name := range names {
		if !IsVariableName(name) {
			list = append(list, diag.New(diag.InvalidID, diag.Key("variables.properties", name), "%q cannot be the name of a variable", clip.Text(name)).
				WithHint("use letters, digits and underscores"))
		}
	}
	for _, name := range a.SystemPrompt.References(TurnScope) {
		if slices.Contains(names, name) {
			continue
		}
		d := diag.New(diag.UndeclaredVariable, "system_prompt", "the prompt uses ${turn.%s}, which variables does not declare", clip.Text(name)).WithNearest(name, names)
		if d.Hint == "" {
			d = d.WithHint("declare it: variables: {type: object, properties: {%s: {type: string}}}; or write $${turn.%s} if it is a text", clip.Text(name), clip.Text(name))
		}
		list = append(list, d)
	}
	if found := unknownPlaceholder.FindStringSubmatch(string(a.SystemPrompt)); found != nil {
		list = append(list, diag.New(diag.NoEffect, "system_prompt", "the prompt contains %s, which is not replaced", clip.Text(found[0])).
			WithHint("write ${turn.%[1]s}, and declare it: variables: {type: object, properties: {%[1]s: {type: string}}}", found[1]))
	}
	return list
}

// unknownPlaceholder matches the placeholders of other systems that a prompt may be copied from.
var unknownPlaceholder = regexp.MustCompile(`\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}`)
