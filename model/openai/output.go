package openai

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/spec"
)

// outputForm is the output format in both APIs.
type outputForm struct {
	Name string `json:"name"`
	// Strict is nil for servers that do not know the field.
	Strict *bool `json:"strict,omitempty"`
	// Schema is the original schema, unless it was made strict.
	Schema json.RawMessage `json:"schema"`
}

// formOf returns the output format to request. Only the vendor's strict mode enforces a schema, and
// it supports a subset of JSON Schema. For an unsupported schema that cannot be rewritten
// equivalently, strict mode is disabled: the model then sees the schema, and the caller must
// validate the answer. Callers that expect strict: true on every request will notice this.
func formOf(output *spec.OutputSchema, c concessions) outputForm {
	form := outputForm{Name: output.DisplayName(), Schema: output.Schema}
	strict := false
	if !c.looseSchema {
		if schema, ok := strictSchema(output.Schema); ok {
			form.Schema, strict = schema, true
		}
	}
	if !c.noStrict {
		form.Strict = &strict
	}
	return form
}
