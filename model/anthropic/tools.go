package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
)

// declaration is what the API is told of a tool.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// encodeTools returns a set of tools as a JSON array.
func encodeTools(tools []model.Tool) ([]byte, error) {
	list := make([]declaration, len(tools))
	for i := range tools {
		t := &tools[i]
		schema, err := objectSchema(t.Parameters)
		if err != nil {
			return nil, &model.Error{
				Class:   model.InvalidRequest,
				Message: fmt.Sprintf("the parameters of tool %s are not a JSON object", t.Name),
				Err:     err,
			}
		}
		list[i] = declaration{Name: t.Name, Description: t.Description, InputSchema: schema}
	}
	return encodeDeclarations(list)
}

func encodeDeclarations(list []declaration) ([]byte, error) {
	encoded, err := encodeJSON(list)
	if err != nil {
		return nil, &model.Error{Class: model.InvalidRequest, Message: "the tools cannot be encoded", Err: err}
	}
	return encoded, nil
}

// objectSchema returns schema in the form the vendor accepts: its type must be
// object.
func objectSchema(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(schema, &fields); err != nil {
		return nil, err
	}
	if _, typed := fields["type"]; typed {
		return schema, nil
	}
	if fields == nil { // the JSON null
		fields = make(map[string]json.RawMessage, 1)
	}
	fields["type"] = json.RawMessage(`"object"`)
	return json.Marshal(fields)
}
