package toolschema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compile(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tool.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("tool.json")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return s
}

func TestRootsAreFlattened(t *testing.T) {
	for _, tt := range []struct{ schema, want, dropped string }{
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{`{"properties":{},"required":null}`, `{"properties":{},"type":"object"}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`, "oneOf"},
		{`{"anyOf":[{"properties":{"k":{"const":"x"}},"required":["k"]},{"properties":{"k":{"const":"y"},"n":{"type":"number","description":"N."}},"required":["k"]}]}`,
			`{"properties":{"k":{"anyOf":[{"const":"x"},{"const":"y"}]},"n":{"description":"N."}},"required":["k"],"type":"object"}`, "anyOf"},
		{`{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"y":{"type":"number"}},"required":["y"]}],"$defs":{"a":{"properties":{"x":{"type":"string"}}}}}`,
			`{"$defs":{"a":{"properties":{"x":{"type":"string"}}}},"properties":{"x":{"type":"string"},"y":{"type":"number"}},"required":["y"],"type":"object"}`, "allOf.$ref"},
	} {
		got, err := FlattenRoot(json.RawMessage(tt.schema))
		if err != nil || string(got.Schema) != tt.want || strings.Join(got.Dropped, " ") != tt.dropped {
			t.Errorf("%s becomes %s without %v: %v", tt.schema, got.Schema, got.Dropped, err)
		}
	}
	for _, schema := range []string{`[]`, `7`, `{`} {
		if _, err := FlattenRoot(json.RawMessage(schema)); err == nil {
			t.Errorf("%s is accepted", schema)
		}
	}
}

func TestRecursiveReferencesEnd(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}}}`,
	} {
		got, err := FlattenRoot(json.RawMessage(schema))
		if err != nil || len(got.Dropped) == 0 {
			t.Errorf("%s: %v %v", schema, got.Dropped, err)
		}
	}
}

// TestPropertyFlattenedSchemasAcceptWhatTheirOriginalsDo checks random objects. A schema of
// which nothing was dropped rejects the same ones.
func TestPropertyFlattenedSchemasAcceptWhatTheirOriginalsDo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted, rejected := 0, 0
	for range 1500 {
		schema := randomSchema(r, 3)
		schema["type"] = "object"
		raw, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		mapped, err := FlattenRoot(raw)
		if err != nil {
			t.Fatal(err)
		}
		var root fields
		if err := json.Unmarshal(mapped.Schema, &root); err != nil {
			t.Fatal(err)
		}
		for _, name := range rootKeywords {
			if root[name] != nil {
				t.Fatalf("%s has %s", mapped.Schema, name)
			}
		}
		before, after := compile(t, raw), compile(t, mapped.Schema)
		for range 20 {
			object := map[string]any{}
			for _, name := range []string{"a", "b", "c"} {
				if r.IntN(2) == 0 {
					object[name] = []any{"x", "y", 1.0, true}[r.IntN(4)]
				}
			}
			was, is := before.Validate(object) == nil, after.Validate(object) == nil
			if was && !is || len(mapped.Dropped) == 0 && was != is {
				t.Fatalf("%s accepts %v: %v, but %s: %v (dropped %v)", raw, object, was, mapped.Schema, is, mapped.Dropped)
			}
			if was {
				accepted++
			} else {
				rejected++
			}
		}
	}
	if accepted < 1000 || rejected < 1000 {
		t.Errorf("%d accepted, %d rejected", accepted, rejected)
	}
}

func randomSchema(r *rand.Rand, depth int) map[string]any {
	s := map[string]any{}
	properties := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		switch r.IntN(5) {
		case 0:
			properties[name] = map[string]any{"type": "string"}
		case 1:
			properties[name] = map[string]any{"const": "x"}
		case 2:
			properties[name] = map[string]any{"enum": []any{"y", 1}, "description": fmt.Sprint(name)}
		}
	}
	if len(properties) > 0 {
		s["properties"] = properties
	}
	if r.IntN(3) == 0 {
		s["required"] = slices.Clone([]string{"a", "b", "c"}[:1+r.IntN(2)])
	}
	if r.IntN(6) == 0 {
		s["additionalProperties"] = false
	}
	if depth == 0 {
		return s
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		if r.IntN(4) == 0 {
			s[keyword] = []any{randomSchema(r, depth-1), randomSchema(r, depth-1)}
		}
	}
	if r.IntN(8) == 0 {
		s["not"] = randomSchema(r, 0)
	}
	if r.IntN(8) == 0 {
		s["if"], s["then"] = randomSchema(r, 0), randomSchema(r, depth-1)
	}
	return s
}
