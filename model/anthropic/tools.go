package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
)

// declaration is the API's declaration of a tool.
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
		schema, err := toolschema.Anthropic.Map(t.Parameters)
		if err != nil {
			return nil, &model.Error{
				Class:   model.InvalidRequest,
				Message: fmt.Sprintf("the parameters of tool %s are not a JSON object", t.Name),
				Err:     err,
			}
		}
		list[i] = declaration{Name: t.Name, Description: schema.Describe(t.Description), InputSchema: schema.Schema}
	}
	return encodeDeclarations(list)
}

func encodeDeclarations(list []declaration) ([]byte, error) {
	encoded, err := rawjson.Marshal(list)
	if err != nil {
		return nil, &model.Error{Class: model.InvalidRequest, Message: "the tools cannot be encoded", Err: err}
	}
	return encoded, nil
}
