package google

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
)

// encodeTools returns the declarations of tools as a JSON array.
func encodeTools(tools []model.Tool) ([]byte, error) {
	list := make([]*declarationParam, len(tools))
	for i := range tools {
		d, err := declareTool(&tools[i])
		if err != nil {
			return nil, err
		}
		list[i] = d
	}
	encoded, err := encodeJSON(list)
	if err != nil {
		return nil, &model.Error{Class: model.InvalidRequest, Message: "the tools cannot be encoded", Err: err}
	}
	return encoded, nil
}

func declareTool(t *model.Tool) (*declarationParam, error) {
	d := &declarationParam{Name: t.Name, Description: t.Description}
	takes, err := hasProperties(t.Parameters)
	if err != nil {
		return nil, badSchema("parameters", t.Name, err)
	}
	if takes {
		d.ParametersJSONSchema = t.Parameters
	}
	if len(t.Output) > 0 {
		if !json.Valid(t.Output) {
			return nil, badSchema("output", t.Name, nil)
		}
		d.ResponseJSONSchema = t.Output
	}
	return d, nil
}

func badSchema(what, tool string, err error) error {
	return &model.Error{
		Class:   model.InvalidRequest,
		Message: fmt.Sprintf("the %s of tool %s are not a JSON Schema in the form of an object", what, tool),
		Err:     err,
	}
}

// hasProperties reports whether a schema says anything of the arguments; the
// vendor wants a function without any to be declared without one.
func hasProperties(schema json.RawMessage) (bool, error) {
	if len(schema) == 0 {
		return false, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(schema, &fields); err != nil {
		return false, err
	}
	var properties map[string]json.RawMessage
	if given, ok := fields["properties"]; ok && json.Unmarshal(given, &properties) == nil && len(properties) > 0 {
		return true, nil
	}
	for name, value := range fields {
		switch name {
		case "type", "properties", "required", "title", "description", "$schema", "$id":
		case "additionalProperties":
			if string(value) != "false" {
				return true, nil
			}
		default:
			return true, nil // such as anyOf, or a reference
		}
	}
	return false, nil
}
