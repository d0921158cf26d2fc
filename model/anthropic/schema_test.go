package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

// TestToolsHaveNoAlternativesAtTheRoot checks that tool schemas are acceptable to the API.
func TestToolsHaveNoAlternativesAtTheRoot(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object","properties":{"b":{}}}]}`,
		`{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}],"required":null}`,
	} {
		encoded, err := encodeTools([]model.Tool{{Name: "look", Description: "Looks.", Parameters: json.RawMessage(schema)}})
		if err != nil {
			t.Fatal(err)
		}
		var tools []struct {
			Description string                     `json:"description"`
			Schema      map[string]json.RawMessage `json:"input_schema"`
		}
		if err := json.Unmarshal(encoded, &tools); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"oneOf", "anyOf", "allOf"} {
			if tools[0].Schema[name] != nil {
				t.Errorf("%s has %s at its root: %s", schema, name, encoded)
			}
			if name != "allOf" && strings.Contains(schema, name) && !strings.Contains(tools[0].Description, name) {
				t.Errorf("the model is not told of %s: %s", name, encoded)
			}
		}
		if string(tools[0].Schema["type"]) != `"object"` || !strings.Contains(string(tools[0].Schema["properties"]), `"b"`) {
			t.Errorf("%s becomes %s", schema, encoded)
		}
	}
}
