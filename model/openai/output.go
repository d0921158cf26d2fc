package openai

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/spec"
)

// outputForm is what both APIs say of the form of an answer.
type outputForm struct {
	Name   string `json:"name"`
	Strict bool   `json:"strict"`
	// Schema is the schema as it was given, unless it was made strict.
	Schema json.RawMessage `json:"schema"`
}

// formOf returns the form to ask for. The vendor keeps a model to a schema
// without fail only in its strict mode, which takes a part of JSON Schema.
// Where a schema lies outside of it and cannot be rewritten without changing
// what it says, the mode is left off: the model is then told of the schema, and
// that the answer satisfies it is left to the one who asked to check. A caller
// that expects strict: true on every request finds this different.
func formOf(output *spec.OutputSchema, c concessions) outputForm {
	form := outputForm{Name: output.DisplayName(), Schema: output.Schema}
	if !c.looseSchema {
		if schema, ok := strictSchema(output.Schema); ok {
			form.Schema, form.Strict = schema, true
		}
	}
	return form
}
