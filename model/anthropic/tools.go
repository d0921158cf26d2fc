package anthropic

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
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
			return nil, vendorhttp.InvalidRequest("the parameters of tool "+t.Name+" are not a JSON object", err)
		}
		list[i] = declaration{Name: t.Name, Description: schema.Describe(t.Description), InputSchema: schema.Schema}
	}
	return vendorhttp.EncodeRequest(list)
}
