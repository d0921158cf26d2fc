package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestShorthands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, path, remedy string }{
		{`{"text":"string"}`, "text", "{type: object, properties: {text: {type: string}}}"},
		{`{"title":"str","text":"int"}`, "text", "{type: object, properties: {title: {type: string}, text: {type: integer}}}"},
		{`{"text":"the text"}`, "text", "{type: object, properties: {text: {…}}}"},
		{`{"text":{"type":"string"},"n":{"enum":[1]}}`, "text", "{type: object, properties: {text: {…}, n: {…}}}"},
		{`{"type":"object","text":{"type":"string"}}`, "text", "{type: object, properties: {text: {…}}}"},
		{`{"type":"object","text":"string","required":["text"]}`, "text", "{type: object, properties: {text: {type: string}}}"},
		{`{"properties":{},"text":"string"}`, "text", "{type: object, properties: {text: {type: string}}}"},
		{`{"a b":"string","c: d":"bool","e":"list","f":"dict"}`, "a b", `{type: object, properties: {"a b": {type: string}, "c: d": {type: boolean}, e: {type: array}, …}}`},
		{`{"typ":"object","properties":{}}`, "typ", "type: object"},
		{`{"properties":{"at":{"city":"string"}}}`, "properties.at.city", "{type: object, properties: {city: {type: string}}}"},
		{`{"properties":{"at":{"type":"array","items":{"city":"string"}}}}`, "properties.at.items.city", "{type: object, properties: {city: {type: string}}}"},
		{"{}", "", ""},
		{"true", "", ""},
		{"[", "", ""},
		{`{"a":`, "", ""},
		{`{"type":"object"}`, "", ""},
		{`{"description":"string"}`, "", ""},
		{`{"x-order":["a"],"x-of":"string"}`, "", ""},
		{`{"$ref":"#/definitions/a","definitions":{"a":{"text":"string"}}}`, "", ""},
		{`{"type":"object","properties":{"text":{"type":"string","unit":"words"}}}`, "", ""},
		{`{"type":"object","properties":{"text":{"type":"string"}},"kind":"object"}`, "", ""},
		{`{"type":"object","properties":{"text":{"desc":"What to count."}}}`, "", ""},
		{`{"anyOf":[{"type":"object"}],"components":{"type":"object"}}`, "", ""},
	} {
		found, ok := FindShorthand(json.RawMessage(tt.schema))
		if !ok {
			found = &Shorthand{}
		}
		if path := strings.Join(found.Path, "."); path != tt.path || found.Remedy != tt.remedy || ok != (tt.path != "") {
			t.Errorf("%s: %q, %s; want %q, %s", tt.schema, path, found.Remedy, tt.path, tt.remedy)
		}
	}
	deep := strings.Repeat(`{"items":`, 1000) + `{"text":"string"}` + strings.Repeat("}", 1000)
	if _, ok := FindShorthand(json.RawMessage(deep)); ok {
		t.Error("a schema is searched to any depth")
	}
}

// Keywords of a published draft are never interpreted as fields.
func TestEveryKeywordOfTheDraftsIsKnown(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, draft := range []string{
		"http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-06/schema", "http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	} {
		compiled, err := jsonschema.NewCompiler().Compile(draft)
		if err != nil {
			t.Fatal(err)
		}
		parts := []*jsonschema.Schema{compiled}
		for len(parts) > 0 {
			part := parts[0]
			parts = parts[1:]
			for name := range part.Properties {
				names[name] = true
			}
			for _, one := range append(part.AllOf, part.Ref) {
				if one != nil {
					parts = append(parts, one)
				}
			}
		}
	}
	if len(names) < 50 {
		t.Errorf("the drafts have %d keywords", len(names))
	}
	for name := range names {
		if !isKeyword(name) {
			t.Errorf("%s is no keyword", name)
		}
	}
}
