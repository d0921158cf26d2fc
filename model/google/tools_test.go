package google

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// TestDeclarations checks the declaration of a tool.
func TestDeclarations(t *testing.T) {
	for _, tt := range []struct {
		tool model.Tool
		want string
	}{
		{model.Tool{Name: "a"}, `{"name":"a"}`},
		{model.Tool{Name: "a", Parameters: json.RawMessage(`null`)}, `{"name":"a"}`},
		{model.Tool{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}, `{"name":"a"}`},
		{model.Tool{Name: "a", Parameters: json.RawMessage(`{"type":"object","additionalProperties":{"type":"string"}}`)},
			`{"name":"a","parametersJsonSchema":{"type":"object","additionalProperties":{"type":"string"}}}`},
		{model.Tool{Name: "a", Parameters: json.RawMessage(`{"$ref":"#/$defs/x"}`)}, `{"name":"a"}`},
		{model.Tool{Name: "a", Parameters: json.RawMessage(`{"properties":{"b":{},"a":{"const":"<"}}}`)},
			`{"name":"a","parametersJsonSchema":{"properties":{"b":{},"a":{"enum":["<"]}},"type":"object"}}`},
		{model.Tool{Name: "a", Description: "b", Output: json.RawMessage(`{"type":"string"}`)},
			`{"description":"b","name":"a","responseJsonSchema":{"type":"string"}}`},
	} {
		got, err := encodeTools([]model.Tool{tt.tool})
		if err != nil || string(got) != `[`+tt.want+`]` {
			t.Errorf("the tool is declared as %s (%v), want %s", got, err, tt.want)
		}
	}
	for _, tool := range []model.Tool{
		{Name: "broken", Parameters: json.RawMessage(`[]`)}, {Name: "broken", Parameters: json.RawMessage(`{`)},
		{Name: "broken", Parameters: json.RawMessage(`true`)}, {Name: "broken", Output: json.RawMessage(`{`)},
	} {
		req := hello()
		req.Tools = []model.Tool{tool}
		_, err := offline(t, Config{}, nil).encodeRequest(req, form{}, thinkingSupport{})
		if failure := model.AsError(err); failure.Class != model.InvalidRequest || !strings.Contains(failure.Message, "broken") {
			t.Errorf("the tool %s gives %v", vendortest.JSON(t, string(tool.Parameters)), err)
		}
	}
}
