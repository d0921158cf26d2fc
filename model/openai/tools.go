package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
)

// declaration is what both APIs say of a function.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is always written: the Responses API takes its absence for true,
	// and then refuses most schemas.
	Strict bool `json:"strict"`
}

// encodeTools returns a set of tools as a JSON array.
func (d *dialect) encodeTools(tools []model.Tool) ([]byte, error) {
	list := make([]any, len(tools))
	for i := range tools {
		t := &tools[i]
		parameters, description, err := objectSchema(t.Parameters, descriptionOf(t))
		if err != nil {
			return nil, invalidRequest(fmt.Sprintf("the parameters of tool %s are not a JSON object", t.Name), err)
		}
		list[i] = d.declare(declaration{Name: t.Name, Description: description, Parameters: parameters})
	}
	encoded, err := encodeJSON(list)
	if err != nil {
		return nil, invalidRequest("the tools cannot be encoded", err)
	}
	return encoded, nil
}

// longestDescription is the longest description of a function that the vendor
// takes, in bytes.
const longestDescription = 1024

// descriptionOf returns the description of a tool. The APIs have no place for the
// schema of the result, so it follows the description, if there is room.
func descriptionOf(t *model.Tool) string {
	var schema bytes.Buffer
	if len(t.Output) == 0 || json.Compact(&schema, t.Output) != nil {
		return t.Description
	}
	text := "Returns JSON of this schema: " + schema.String()
	if t.Description != "" {
		text = t.Description + paragraph + text
	}
	if len(text) > longestDescription {
		return t.Description
	}
	return text
}

// objectSchema returns the schema in the form that the vendor accepts, and the description
// with what that leaves out: an object schema must list its properties, even if it has none.
func objectSchema(schema json.RawMessage, description string) (json.RawMessage, string, error) {
	mapped, err := toolschema.FlattenRoot(schema)
	if err != nil {
		return nil, "", err
	}
	if told := mapped.Describe(description); len(told) <= longestDescription {
		description = told
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(mapped.Schema, &fields); err != nil || fields["properties"] != nil {
		return mapped.Schema, description, err
	}
	fields["properties"] = json.RawMessage(`{}`)
	mapped.Schema, err = json.Marshal(fields)
	return mapped.Schema, description, err
}

// encodeJSON encodes a value so that a model reads texts as they were written.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// invalidRequest returns the error for a request that cannot be sent.
func invalidRequest(what string, err error) error {
	return &model.Error{Class: model.InvalidRequest, Message: what, Err: err}
}
