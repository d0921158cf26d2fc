package mcp

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/internal/schema"
)

func TestNullableParametersAcceptNull(t *testing.T) {
	t.Parallel()
	s := known(t, config{}, toolInfo{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"integer","nullable":true}},"required":null}`)})
	for arguments, valid := range map[string]bool{`{"q":null}`: true, `{"q":1}`: true, `{}`: true, `{"q":"x"}`: false} {
		form, err := schema.Compile(entries(t, s)["mcp__fake__a"].Descriptor.Parameters)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := form.ValidateJSON(t.Context(), json.RawMessage(arguments)); err != nil || (len(found) == 0) != valid {
			t.Errorf("%s: %v, %v", arguments, found, err)
		}
	}
}

// TestToolsWithOldSchemasCanBeUsed lists tools whose schemas do not compile as they are.
func TestToolsWithOldSchemasCanBeUsed(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{
		`{"type":"object","properties":{"a":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`,
		`{"type":"object","properties":{"a":{"type":"string","required":true}}}`,
		`{"type":["object","null"],"title":5}`,
		`{"type":"object","properties":{"a":{"$ref":"https://schemas.example/a.json"}}}`,
		`{"$ref":"https://schemas.example/a.json"}`,
	} {
		s := known(t, config{}, toolInfo{Name: "a", InputSchema: json.RawMessage(sent)})
		entry, ok := entries(t, s)["mcp__fake__a"]
		if !ok {
			t.Errorf("%s: there is no tool", sent)
			continue
		}
		if _, err := schema.Compile(entry.Descriptor.Parameters); err != nil {
			t.Errorf("%s: %v", sent, err)
		}
	}
}
