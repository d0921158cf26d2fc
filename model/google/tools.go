package google

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
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
	return vendorhttp.EncodeRequest(list)
}

func declareTool(t *model.Tool) (*declarationParam, error) {
	mapped, err := toolschema.Gemini.Map(t.Parameters)
	if err != nil {
		return nil, badSchema("parameters", t.Name, err)
	}
	d := &declarationParam{Name: t.Name, Description: mapped.Describe(t.Description)}
	if hasProperties(mapped.Schema) {
		d.ParametersJSONSchema = mapped.Schema
	}
	if len(t.Output) > 0 {
		result, err := toolschema.Gemini.MapValue(t.Output)
		if err != nil {
			return nil, badSchema("output", t.Name, err)
		}
		d.ResponseJSONSchema = result.Schema
	}
	return d, nil
}

func badSchema(what, tool string, err error) error {
	return vendorhttp.InvalidRequest(fmt.Sprintf("the %s of tool %s are not a JSON Schema in the form of an object", what, tool), err)
}

// hasProperties reports whether a schema describes any arguments; the vendor requires that a
// function without arguments be declared without a schema.
func hasProperties(schema json.RawMessage) bool {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Further    json.RawMessage            `json:"additionalProperties"`
		AnyOf      json.RawMessage            `json:"anyOf"`
	}
	_ = json.Unmarshal(schema, &object) // mapped
	return len(object.Properties) > 0 || object.AnyOf != nil || object.Further != nil && string(object.Further) != "false"
}
