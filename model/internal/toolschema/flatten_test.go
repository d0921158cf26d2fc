package toolschema

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRootsAreFlattened(t *testing.T) {
	for _, tt := range []struct{ schema, want, dropped string }{
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{`{"properties":{},"required":null}`, `{"properties":{},"type":"object"}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`, "oneOf"},
		{`{"anyOf":[{"properties":{"k":{"const":"x"}},"required":["k"]},{"properties":{"k":{"const":"y"},"n":{"type":"number","description":"N."}},"required":["k"]}]}`,
			`{"properties":{"k":{"anyOf":[{"const":"x"},{"const":"y"}]},"n":{"description":"N. Where it applies, it must also satisfy this JSON Schema: {\"type\":\"number\"}"}},"required":["k"],"type":"object"}`, "anyOf"},
		{`{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"y":{"type":"number"}},"required":["y"]}],"$defs":{"a":{"properties":{"x":{"type":"string"}}}}}`,
			`{"properties":{"x":{"type":"string"},"y":{"type":"number"}},"required":["y"],"type":"object"}`, ""},
	} {
		got, err := Compatible.Map(json.RawMessage(tt.schema))
		if err != nil || string(got.Schema) != tt.want || strings.Join(got.Dropped, " ") != tt.dropped {
			t.Errorf("%s becomes %s without %v: %v", tt.schema, got.Schema, got.Dropped, err)
		}
	}
	for _, schema := range []string{`[]`, `7`, `{`} {
		if _, err := OpenAI.Map(json.RawMessage(schema)); err == nil {
			t.Errorf("%s is accepted", schema)
		}
	}
}

func TestRecursiveReferencesEnd(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}}}`,
	} {
		got, err := OpenAI.Map(json.RawMessage(schema))
		if err != nil || len(got.Dropped) == 0 {
			t.Errorf("%s: %v %v", schema, got.Dropped, err)
		}
	}
}
