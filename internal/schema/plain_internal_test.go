package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawSchema draws a schema of plainKeywords, in the form of a plain schema, with some invalid
// values.
func drawSchema(t *rapid.T, depth int) any {
	if depth == 0 || rapid.IntRange(0, 9).Draw(t, "boolean") == 0 {
		return rapid.Bool().Draw(t, "schema")
	}
	object := map[string]any{}
	sub := func() any { return drawSchema(t, depth-1) }
	draw := map[string]func() any{
		"type": func() any {
			return rapid.SampledFrom([]any{"object", "object", "string", "integer", "number", "boolean", "null", "array",
				[]any{"string", "null"}, []any{"array", "object"}, []any{"null", "null"}, "text", 1, []any{}}).Draw(t, "type")
		},
		"properties": func() any {
			properties := map[string]any{}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "properties") {
				properties[name] = sub()
			}
			return properties
		},
		"required": func() any {
			return rapid.SampledFrom([]any{[]any{"a"}, []any{"a", "b"}, []any{}, []any{"b", "b"}, []any{1}, "a"}).Draw(t, "required")
		},
		"additionalProperties": sub,
		"items":                sub,
		"anyOf":                func() any { return []any{sub(), sub()} },
		"enum": func() any {
			return rapid.SampledFrom([]any{[]any{"a", "é"}, []any{"a", "a"}, []any{1}, []any{}, "a"}).Draw(t, "enum")
		},
		"minimum":     func() any { return drawLimit(t) },
		"maximum":     func() any { return drawLimit(t) },
		"minLength":   func() any { return drawLimit(t) },
		"maxLength":   func() any { return drawLimit(t) },
		"minItems":    func() any { return drawLimit(t) },
		"maxItems":    func() any { return drawLimit(t) },
		"description": func() any { return rapid.SampledFrom([]any{"a", 1}).Draw(t, "description") },
		"format":      func() any { return rapid.SampledFrom([]any{"email", 1}).Draw(t, "format") },
		"default":     func() any { return rapid.SampledFrom([]any{"a", nil}).Draw(t, "default") },
		"examples":    func() any { return rapid.SampledFrom([]any{[]any{1}, "a"}).Draw(t, "examples") },
		"deprecated":  func() any { return rapid.SampledFrom([]any{true, "a"}).Draw(t, "deprecated") },
		"$schema": func() any {
			return rapid.SampledFrom([]any{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema",
				"http://json-schema.org/draft-04/schema#"}).Draw(t, "$schema")
		},
	}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(plainKeywords), 0, 4, rapid.ID[string]).Draw(t, "keywords") {
		object[key] = draw[key]()
	}
	return object
}

var (
	names         = []string{"a", "b", "c", "é", "x\"y"}
	plainKeywords = []string{"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "minimum", "maximum",
		"minLength", "maxLength", "minItems", "maxItems", "description", "format", "default", "examples", "deprecated", "$schema"}
)

func drawLimit(t *rapid.T) any {
	return rapid.SampledFrom([]any{0, 1, 2, 3, -1, 1.5, 2.0, "1", json.Number("1e2"), 12345678901}).Draw(t, "limit")
}

// drawText draws a JSON text, sometimes with values that have several spellings.
func drawText(t *rapid.T, depth int) string {
	kinds := 2
	if depth == 0 {
		kinds = 0
	}
	switch rapid.IntRange(-2, kinds).Draw(t, "kind") {
	case 1:
		var b strings.Builder
		for i, name := range rapid.SliceOfN(rapid.SampledFrom([]string{`"a"`, `"b"`, `"c"`, `"é"`, `"\u0061"`, `"x\"y"`}), 0, 3).Draw(t, "names") {
			if i > 0 {
				b.WriteString(" , ")
			}
			b.WriteString(name + " : " + drawText(t, depth-1))
		}
		return "{ " + b.String() + " }"
	case 2:
		var elements []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			elements = append(elements, drawText(t, depth-1))
		}
		return "[" + strings.Join(elements, ",\n") + "]"
	default:
		return rapid.SampledFrom([]string{"null", "true", "false", "0", "1", "-2", "3.0", "1.5", "2e1", "1e9999", "98765432101",
			`""`, `"a"`, `"é"`, `"\u0061"`, `"abc"`, `"],}"`, `"\\"`, "\"\xff\"", "", "{", "1 2", "nul"}).Draw(t, "scalar")
	}
}

func TestPropertyAPlainSchemaIsValidAndAcceptsWhatTheLibraryDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(drawSchema(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		doc, size, err := decodeValue(raw)
		if err != nil {
			t.Skip(err)
		}
		p := newPlain(doc)
		if p == nil {
			return
		}
		compiled, err := compileDocument(doc, size)
		if err != nil {
			t.Fatalf("the schema %s has a plain form: %v", raw, err)
		}
		for range 4 {
			text := drawText(t, 3)
			if !p.accepts([]byte(text), baseSteps) {
				continue
			}
			value, _, err := decodeValue([]byte(text))
			if err == nil {
				err = compiled.schema.Validate(value)
			}
			if err != nil {
				t.Fatalf("the schema %s accepts %s: %v", raw, text, err)
			}
		}
	})
}

func TestAPlainSchemaAcceptsWhatToolsAreCalledWith(t *testing.T) {
	t.Parallel()
	for schema, texts := range map[string][]string{
		`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`: {
			`{"city":"Paris"}`, ` { "city" : "São \"P\"\u0061ulo" } `,
		},
		`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":5},"to":{"type":["null","array"],"items":{"type":"number"}}}}`: {
			`{}`, `{"n":5,"to":[1,2.5,-3]}`, `{"to":null,"more":[{"x":[]}]}`,
		},
		`{"type":"object","properties":{"unit":{"enum":["C","F"]},"q":{"anyOf":[{"type":"string","minLength":2},{"type":"null"}]}}}`: {
			`{"unit":"F","q":"éa"}`, `{"q":null}`,
		},
		`{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string"}}}}`: {`{"labels":{"a":"b","c":"d"}}`},
	} {
		s, err := Compile(json.RawMessage(schema))
		if err != nil || s.plain == nil {
			t.Fatalf("the schema %s has no plain form: %v", schema, err)
		}
		for _, text := range texts {
			if !s.plain.accepts([]byte(text), baseSteps) {
				t.Errorf("the schema %s does not accept %s at once", schema, text)
			}
		}
	}
}

func TestAPlainSchemaLeavesWhatItIsNotSureOf(t *testing.T) {
	t.Parallel()
	for schema, texts := range map[string][]string{
		`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`: {
			`{"a":1.0}`, `{"a":1e2}`, `{"\u0061":1}`, `{"b":1}`, `{"a":"1"}`, `[]`, `{`, ``, `{} {}`,
		},
		`{"enum":["a"]}`:                             {`"\u0061"`, `"b"`, `1`, `null`, `{}`, `[]`, `true`},
		`{"minLength":2,"minItems":1}`:               {`"a"`, `[]`, "\"\xff\xff\""},
		`{"required":["a"],"properties":{"a":true}}`: {`{}`},
	} {
		s, err := Compile(json.RawMessage(schema))
		if err != nil || s.plain == nil {
			t.Fatalf("the schema %s has no plain form: %v", schema, err)
		}
		for _, text := range texts {
			if s.plain.accepts([]byte(text), baseSteps) {
				t.Errorf("the schema %s accepts %s at once", schema, text)
			}
		}
	}
	for _, schema := range []string{`{"pattern":"a"}`, `{"$ref":"#"}`, `{"oneOf":[true]}`, `false`, `{"x":1}`, `{"required":["a"]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`, `{"properties":{"a":{"$schema":"x"}}}`} {
		if s, err := Compile(json.RawMessage(schema)); err == nil && s.plain != nil {
			t.Errorf("the schema %s has a plain form", schema)
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if found, err := s.ValidateJSON(b.Context(), []byte(`{"city":"Paris"}`)); err != nil || found != nil {
			b.Fatal(fmt.Sprint(found), err)
		}
	}
}
