package toolschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// TestSchemasAreMapped compares schemas with their forms in a dialect.
func TestSchemasAreMapped(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		dialect      *Dialect
		want         string
		dropped      string
	}{
		{"what is accepted stays", `{"type":"object","properties":{"b":{"type":"string"},"a":{}}}`, OpenAI,
			`{"type":"object","properties":{"b":{"type":"string"},"a":{}}}`, ""},
		{"nulls", `{"type":"object","required":null,"properties":null}`, OpenAI, `{"type":"object","properties":{}}`, ""},
		{"nullable and $schema", `{"$schema":"x","type":"object","properties":{"a":{"type":"string","nullable":true}}}`, Anthropic,
			`{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{"an array without items", `{"type":"object","properties":{"a":{"type":["array","null"]}}}`, OpenAI,
			`{"type":"object","properties":{"a":{"type":["array","null"],"items":{}}}}`, ""},
		{"a reference stays where it is resolved", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, OpenAI,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, ""},
		{"a reference to no definition", `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, OpenAI,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, ""},
		{"a reference is replaced", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"A."}},"$defs":{"x":{"type":"string","description":"X."}}}`, Gemini,
			`{"type":"object","properties":{"a":{"description":"A.","type":"string"}}}`, ""},
		{"a recursive reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"next":{"$ref":"#/$defs/x"}}}}}`, Compatible,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"next":{"type":"object","properties":{}}}}}}`, "recursive $ref"},
		{"a constant", `{"type":"object","properties":{"a":{"const":"x"},"b":{"const":true}}}`, Gemini,
			`{"type":"object","properties":{"a":{"enum":["x"]},"b":{"description":"It must also satisfy this JSON Schema: {\"enum\":[true]}"}}}`, "enum"},
		{"a nullable enumeration", `{"type":"object","properties":{"a":{"enum":["x",null]}}}`, Gemini,
			`{"type":"object","properties":{"a":{"anyOf":[{"enum":["x"]},{"type":"null"}]}}}`, ""},
		{"a list of types", `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","integer"]}}}`, Gemini,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, ""},
		{"formats and patterns", `{"type":"object","properties":{"a":{"type":"string","format":"uri","pattern":"^h","description":"A."},"b":{"type":"string","format":"date"}}}`, Gemini,
			`{"type":"object","properties":{"a":{"type":"string","description":"A. It must also satisfy this JSON Schema: {\"format\":\"uri\",\"pattern\":\"^h\"}"},"b":{"type":"string","format":"date"}}}`, "format pattern"},
		{"alternatives", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`, Gemini,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, "oneOf"},
		{"schemas that all hold", `{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{}},"required":["x"]},{"properties":{"y":{}},"required":["y"]}]}}}`, Gemini,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"x":{},"y":{}},"required":["x","y"]}}}`, ""},
		{"an odd name", `{"type":"object","properties":{"$top":{"type":"integer"},"a":{}},"required":["$top","a"],"additionalProperties":false}`, Anthropic,
			`{"type":"object","properties":{"a":{}},"required":["a"]}`, "additionalProperties property $top"},
		{"a list of items", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}],"additionalItems":false}}}`, Anthropic,
			`{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"items":{"not":{}}}}}`, ""},
		{"exclusive bounds", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, Anthropic,
			`{"type":"object","properties":{"a":{"exclusiveMinimum":1}}}`, ""},
		{"a root of Nova", `{"type":"object","properties":{"a":{}},"title":"T","minProperties":1}`, Nova,
			`{"type":"object","properties":{"a":{}}}`, "minProperties"},
		{"a condition at the root", `{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`, Anthropic,
			`{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`, ""},
		{"closed alternatives at the root", `{"type":"object","oneOf":[{"properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false},{"properties":{"name":{"type":"string","description":"N."}},"required":["name"],"additionalProperties":false}]}`, Anthropic,
			`{"properties":{"id":{"type":"integer"},"name":{"type":"string","description":"N."}},"type":"object"}`, "additionalProperties oneOf"},
		{"open alternatives at the root", `{"type":"object","oneOf":[{"properties":{"id":{"type":"integer"}}},{"properties":{"name":{"type":"string","description":"N."}}}]}`, Anthropic,
			`{"properties":{"id":{"description":"Where it applies, it must also satisfy this JSON Schema: {\"type\":\"integer\"}"},"name":{"description":"N. Where it applies, it must also satisfy this JSON Schema: {\"type\":\"string\"}"}},"type":"object"}`, "oneOf"},
		{"required names without properties", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`, Gemini,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]}`, ""},
		{"a required name that no property may have", `{"type":"object","required":["a"],"additionalProperties":false}`, Gemini,
			`{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{}}}`, "additionalProperties"},
		{"a negation of what is lost", `{"type":"object","properties":{"a":{"not":{"properties":{"$b":{"type":"string"}}}}}}`, Anthropic,
			`{"type":"object","properties":{"a":{"description":"It must also satisfy this JSON Schema: {\"not\":{\"properties\":{\"$b\":{\"type\":\"string\"}}}}"}}}`, "not property $b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.dialect.Map(json.RawMessage(tt.schema))
			if err != nil || string(got.Schema) != tt.want || strings.Join(got.Dropped, " ") != tt.dropped {
				t.Errorf("%s: %s\nwant %s\nwithout %v, %v", tt.dialect.Name, got.Schema, tt.want, got.Dropped, err)
			}
		})
	}
}

// TestMappedSchemasAreRemembered maps a schema again after many others.
func TestMappedSchemasAreRemembered(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"const":"memo"}}}`)
	first, err := Gemini.Map(schema)
	if err != nil {
		t.Fatal(err)
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = Gemini.Map(schema) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
	if other, _ := OpenAI.Map(schema); string(other.Schema) == string(first.Schema) {
		t.Errorf("OpenAI gets the schema of Gemini: %s", other.Schema)
	}
	for i := range 2 * maxRemembered {
		if _, err := Gemini.Map(fmt.Appendf(nil, `{"type":"object","title":"%d"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := remembered.known.Len(); n > maxRemembered {
		t.Errorf("%d schemas are kept", n)
	}
	if again, err := Gemini.Map(schema); err != nil || string(again.Schema) != string(first.Schema) {
		t.Errorf("%s, %v", again.Schema, err)
	}
}

// names and values are the elements of generated schemas and objects.
var (
	propertyNames = []string{"a", "b", "d", "$c"}
	plainValues   = []any{"x", "y", "zz", 1.0, 2.0, true, nil, []any{}, []any{"x", 1.0}, map[string]any{"a": "x"}, map[string]any{}}
)

// plainKeywords are keywords without schemas, and their values.
var plainKeywords = []struct {
	name   string
	values []any
}{
	{"const", plainValues}, {"minLength", []any{1, 2}}, {"pattern", []any{"^x"}}, {"format", []any{"uri", "date"}}, {"minimum", []any{2}},
	{"minItems", []any{1}}, {"maxItems", []any{1}}, {"minProperties", []any{1}}, {"nullable", []any{true}}, {"description", []any{"D."}},
	{"required", []any{[]string{"a"}, []string{"a", "$c"}}}, {"additionalProperties", []any{false, true}}, {"uniqueItems", []any{true}},
}

func drawSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 19).Draw(t, "boolean") == 0 {
		return rapid.Bool().Draw(t, "value")
	}
	s := map[string]any{}
	chance := func(name string, of int) bool { return rapid.IntRange(1, of).Draw(t, name) == 1 }
	if chance("typed", 3) {
		s["type"] = rapid.SampledFrom([]any{"string", "object", "array", "integer", []string{"string", "null"}, []string{"object", "array"}}).Draw(t, "type")
	}
	for _, k := range plainKeywords {
		if chance(k.name, 24) {
			s[k.name] = rapid.SampledFrom(k.values).Draw(t, "of "+k.name)
		}
	}
	if chance("enum", 8) {
		s["enum"] = rapid.SliceOfNDistinct(rapid.SampledFrom(plainValues[:7]), 1, 3, func(v any) string { return fmt.Sprint(v) }).Draw(t, "values")
	}
	if chance("ref", 9) {
		s["$ref"] = rapid.SampledFrom([]string{"#/$defs/p", "#/$defs/q", "#", "#/$defs/none"}[:3]).Draw(t, "target")
	}
	if depth == 0 {
		return s
	}
	if chance("properties", 2) {
		properties := map[string]any{}
		for _, name := range propertyNames {
			if chance("property", 2) {
				properties[name] = drawSchema(t, depth-1)
			}
		}
		s["properties"] = properties
	}
	for _, name := range []string{"items", "not", "contains", "additionalProperties", "propertyNames"} {
		if chance(name, 10) {
			s[name] = drawSchema(t, depth-1)
		}
	}
	if chance("if", 10) {
		s["if"], s["then"], s["else"] = drawSchema(t, depth-1), drawSchema(t, depth-1), drawSchema(t, depth-1)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		if chance(name, 7) {
			s[name] = []any{drawSchema(t, depth-1), drawSchema(t, depth-1)}
		}
	}
	for _, name := range []string{"patternProperties", "dependentSchemas"} {
		if chance(name, 12) {
			s[name] = map[string]any{"a": drawSchema(t, depth-1)}
		}
	}
	return s
}

// TestPropertyMappedSchemasAcceptWhatTheirOriginalsDo checks drawn objects. A schema from which
// nothing was dropped also rejects the same objects.
func TestPropertyMappedSchemasAcceptWhatTheirOriginalsDo(t *testing.T) {
	object := rapid.MapOf(rapid.SampledFrom(append(propertyNames, "e")), rapid.SampledFrom(plainValues))
	rapid.Check(t, func(rt *rapid.T) {
		schema, ok := drawSchema(rt, 2).(map[string]any)
		if !ok {
			rt.Skip("a boolean")
		}
		schema["$defs"] = map[string]any{"p": drawSchema(rt, 1), "q": drawSchema(rt, 1)}
		schema["type"] = "object"
		raw, err := json.Marshal(schema)
		if err != nil {
			rt.Fatal(err)
		}
		before, err := compileSchema(raw)
		if err != nil {
			rt.Skip(err)
		}
		objects := rapid.SliceOfN(object, 8, 8).Draw(rt, "objects")
		for _, d := range allDialects {
			mapped, err := d.Map(raw)
			if err != nil {
				rt.Fatal(err)
			}
			checkDialect(rt, d, mapped.Schema)
			after, err := compileSchema(mapped.Schema)
			if err != nil {
				rt.Fatalf("%s: %s becomes %s: %v", d.Name, raw, mapped.Schema, err)
			}
			for _, o := range objects {
				value := map[string]any{}
				for k, v := range o {
					value[k] = v
				}
				was, is := before.Validate(value) == nil, after.Validate(value) == nil
				if was && !is || len(mapped.Dropped) == 0 && was != is {
					rt.Fatalf("%s: %s accepts %v: %v, but %s: %v (dropped %v)", d.Name, raw, value, was, mapped.Schema, is, mapped.Dropped)
				}
			}
		}
	})
}

func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tool.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("tool.json")
}

type failing interface{ Fatalf(string, ...any) }

// checkDialect checks that a schema uses only keywords that the dialect accepts.
func checkDialect(t failing, d *Dialect, schema json.RawMessage) {
	root, ok := rawjson.Members(schema)
	if !ok || string(rawjson.Find(root, "type")) != `"object"` {
		t.Fatalf("%s: %s is not the schema of an object", d.Name, schema)
	}
	for _, m := range root {
		if slices.Contains(d.rejected, m.Name) || d.root != nil && !slices.Contains(d.root, m.Name) {
			t.Fatalf("%s: %s has %s", d.Name, schema, m.Name)
		}
	}
	checkKeywords(t, d, schema, schema)
}

func checkKeywords(t failing, d *Dialect, raw, whole json.RawMessage) {
	list, _ := rawjson.Members(raw)
	for _, m := range list {
		switch {
		case d.keywords != nil && !slices.Contains(d.keywords, m.Name) && m.Name != "title" && m.Name != "description",
			d.inlineRefs && (m.Name == "$ref" || m.Name == "$defs" || m.Name == "definitions"):
			t.Fatalf("%s: %s has %s", d.Name, whole, m.Name)
		case slices.Contains(mapKeywords, m.Name):
			inner, _ := rawjson.Members(m.Value)
			for _, one := range inner {
				if m.Name == "properties" && d.propertyName != nil && !d.propertyName.MatchString(one.Name) {
					t.Fatalf("%s: %s has the property %s", d.Name, whole, one.Name)
				}
				checkKeywords(t, d, one.Value, whole)
			}
		case slices.Contains(listKeywords, m.Name):
			var inner []json.RawMessage
			_ = json.Unmarshal(m.Value, &inner)
			for _, one := range inner {
				checkKeywords(t, d, one, whole)
			}
		case slices.Contains(schemaKeywords, m.Name):
			checkKeywords(t, d, m.Value, whole)
		}
	}
}

// FuzzMap checks that any valid schema is mapped to a valid schema in every dialect, and that
// invalid schemas become an object or an error.
func FuzzMap(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, `{"$ref":"#"}`, `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true,"items":[true]}},"id":"x"}`,
		`{"oneOf":[{"required":["a"]},{"properties":{"b":false}}],"$defs":{"x":{"allOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}]}}}`,
		`{"properties":{"a":{"enum":["x",null,true],"const":null,"type":["string","integer"]},"$b":{"not":{"$ref":"#/$defs/%20~1"}}},"$defs":{" /":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, invalid := compileSchema(raw)
		for _, d := range allDialects {
			mapped, err := d.Map(raw)
			if err != nil {
				continue
			}
			checkDialect(t, d, mapped.Schema)
			if _, err := compileSchema(mapped.Schema); err != nil && invalid == nil {
				t.Fatalf("%s: %s becomes %s: %v", d.Name, raw, mapped.Schema, err)
			}
		}
	})
}

// allDialects are all dialects but the limited ones.
var allDialects = []*Dialect{OpenAI, Compatible, Anthropic, Bedrock, Nova, Gemini}
