package resolve

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/spec"
)

// variables are an agent's declared variables, compiled.
type variables struct {
	spec.Variables
	schema *schema.Schema
}

// check validates values against the declared variables. Problems show declarations, never
// values.
func (v *variables) check(ctx context.Context, values map[string]json.RawMessage) []string {
	var problems []string
	for _, name := range v.Required {
		if _, ok := values[name]; !ok {
			problems = append(problems, fmt.Sprintf("%q is required", clip.Text(name)))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	data, err := json.Marshal(values)
	if err != nil {
		return []string{"they are not JSON"}
	}
	found, err := v.schema.ValidateJSON(ctx, data)
	if err != nil {
		return []string{err.Error()}
	}
	seen := map[string]bool{}
	for _, violation := range found {
		name := ""
		if len(violation.Path) > 0 {
			name = violation.Path[0]
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		if declared, ok := v.Properties[name]; ok {
			problems = append(problems, fmt.Sprintf("%q does not fit %s", clip.Text(name), clip.Text(rawjson.CompactText(declared))))
		} else {
			problems = append(problems, "together they do not fit the schema that the agent declares")
		}
	}
	return problems
}

// textOf returns the text of a variable in a prompt: a string as it is, anything else as JSON. If
// the turn does not supply the variable, it is the schema's default, or empty.
func (v *variables) textOf(name string, values map[string]json.RawMessage) string {
	if v == nil {
		return ""
	}
	value, ok := values[name]
	if !ok {
		var declared struct {
			Default json.RawMessage `json:"default"`
		}
		if json.Unmarshal(v.Properties[name], &declared) != nil {
			return ""
		}
		value = declared.Default
	}
	var text string
	if len(value) == 0 {
		return ""
	}
	if json.Unmarshal(value, &text) == nil && value[0] == '"' {
		return text
	}
	return rawjson.CompactText(value)
}
