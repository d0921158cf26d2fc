package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fields returns some fields of an encoded request.
func fields(t *testing.T, api API, req *model.Request, c concessions, names ...string) map[string]any {
	t.Helper()
	all, ok := parse(t, body(t, api, req, c)).(map[string]any)
	if !ok {
		t.Fatal("the body is not an object")
	}
	some := map[string]any{}
	for _, name := range names {
		if value, ok := all[name]; ok {
			some[name] = value
		}
	}
	return some
}

// TestToolChoice checks the encoding of each choice, and that the choice is omitted without tools.
func TestToolChoice(t *testing.T) {
	for _, tt := range []struct {
		choice          model.ToolChoice
		responses, chat string
	}{
		{model.ToolChoice{}, `{}`, `{}`},
		{model.ToolChoice{Mode: model.ToolsNone}, `{"tool_choice":"none"}`, `{"tool_choice":"none"}`},
		{model.ToolChoice{Mode: model.ToolsRequired}, `{"tool_choice":"required"}`, `{"tool_choice":"required"}`},
		{model.ToolChoice{Mode: model.ToolsNamed, Name: "look"},
			`{"tool_choice":{"type":"function","name":"look"}}`, `{"tool_choice":{"type":"function","function":{"name":"look"}}}`},
	} {
		for api, want := range map[API]string{Responses: tt.responses, ChatCompletions: tt.chat} {
			req := conversation()
			req.ToolChoice = tt.choice
			if diff := cmp.Diff(parse(t, want), any(fields(t, api, req, concessions{}, "tool_choice"))); diff != "" {
				t.Errorf("%s: the choice %+v (-want +got):\n%s", api, tt.choice, diff)
			}
			conceded := fields(t, api, req, concessions{freeChoice: true}, "tool_choice", "tools")
			if _, told := conceded["tools"]; conceded["tool_choice"] != nil || told == (tt.choice.Mode == model.ToolsNone) {
				t.Errorf("%s: the choice %+v that is refused leaves %v", api, tt.choice, conceded)
			}
			req.Tools = nil
			if got := fields(t, api, req, concessions{}, "tool_choice"); len(got) > 0 {
				t.Errorf("%s: without tools %v is sent", api, got)
			}
		}
	}
}

// TestOutputForm checks how an answer's schema is requested.
func TestOutputForm(t *testing.T) {
	const strict = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	const loose = `{"type":"object","properties":{"city":{"type":"string"}}}`
	for _, tt := range []struct {
		output    spec.OutputSchema
		conceded  concessions
		responses string
		chat      string
	}{
		{spec.OutputSchema{Name: "place", Schema: json.RawMessage(strict)}, concessions{},
			`{"text":{"format":{"type":"json_schema","name":"place","strict":true,"schema":` + strict + `}}}`,
			`{"response_format":{"type":"json_schema","json_schema":{"name":"place","strict":true,"schema":` + strict + `}}}`},
		{spec.OutputSchema{Schema: json.RawMessage(loose)}, concessions{},
			`{"text":{"format":{"type":"json_schema","name":"output","strict":false,"schema":` + loose + `}}}`,
			`{"response_format":{"type":"json_schema","json_schema":{"name":"output","strict":false,"schema":` + loose + `}}}`},
		{spec.OutputSchema{Schema: json.RawMessage(strict)}, concessions{looseSchema: true},
			`{"text":{"format":{"type":"json_schema","name":"output","strict":false,"schema":` + strict + `}}}`,
			`{"response_format":{"type":"json_schema","json_schema":{"name":"output","strict":false,"schema":` + strict + `}}}`},
		{spec.OutputSchema{Schema: json.RawMessage(strict)}, concessions{noOutputForm: true}, `{}`, `{}`},
	} {
		for api, want := range map[API]string{Responses: tt.responses, ChatCompletions: tt.chat} {
			req := conversation()
			req.Output = &tt.output
			if diff := cmp.Diff(parse(t, want), any(fields(t, api, req, tt.conceded, "text", "response_format"))); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", api, diff)
			}
		}
	}
}

// TestStrictSchema checks which schemas strict mode accepts and in which form; "" is an unaccepted
// schema.
func TestStrictSchema(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":`, depth) +
			`{"type":"string"}` + strings.Repeat("}}", depth)
	}
	object := func(property string) string {
		return `{"type":"object","properties":{"a":` + property + `},"required":["a"],"additionalProperties":false}`
	}
	as := func(schema string) [2]string { return [2]string{schema, schema} }
	for name, tt := range map[string][2]string{
		"as it is":               as(object(`{"type":"string","description":"<b>","pattern":"^x"}`)),
		"closes objects":         {`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"null"}},"required":["a","b"]}`, `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"null"}},"required":["a","b"],"additionalProperties":false}`},
		"closes inner objects":   {object(`{"type":"array","items":{"type":["object","null"],"properties":{"x":{"type":"integer"}},"required":["x"]}}`), object(`{"type":"array","items":{"type":["object","null"],"properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}}`)},
		"drops notes":            {`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T",` + object(`{"type":"string","default":"x","examples":["y"]}`)[1:], `{"title":"T",` + object(`{"type":"string"}`)[1:]},
		"notes at a reference":   {`{"$defs":{"x":{"type":"string"}},` + object(`{"$ref":"#/$defs/x","description":"d"}`)[1:], `{"$defs":{"x":{"type":"string"}},` + object(`{"$ref":"#/$defs/x"}`)[1:]},
		"alternatives":           as(object(`{"anyOf":[{"type":"string"},{"type":"null"}]}`)),
		"values":                 as(object(`{"type":"string","enum":["a","b"]}`)),
		"a format":               as(object(`{"type":"string","format":"date-time"}`)),
		"nothing inside":         as(`{"type":"object","properties":{},"additionalProperties":false}`),
		"ten levels":             as(nested(10)),
		"too deep":               {nested(11), ""},
		"optional property":      {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`, ""},
		"none required":          {`{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		"required but unknown":   {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`, ""},
		"any object":             {`{"type":"object"}`, ""},
		"any inner object":       {object(`{"type":"object"}`), ""},
		"further properties":     {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`, ""},
		"a map":                  {object(`{"type":"object","additionalProperties":{"type":"string"}}`), ""},
		"no object":              {`{"type":"array","items":{"type":"string"}}`, ""},
		"alternatives at top":    {`{"anyOf":[{"type":"object"}],"type":"object","properties":{}}`, ""},
		"anything":               {object(`{}`), ""},
		"true":                   {object(`true`), ""},
		"an unknown keyword":     {object(`{"type":"string","minLength":1}`), ""},
		"oneOf":                  {object(`{"type":"string","oneOf":[{"const":"a"}]}`), ""},
		"a format of one's own":  {object(`{"type":"string","format":"phone"}`), ""},
		"another document":       {object(`{"$ref":"https://example.com/x"}`), ""},
		"a list of anything":     {object(`{"type":"array"}`), ""},
		"a list as a tuple":      {object(`{"type":"array","items":[{"type":"string"}]}`), ""},
		"no alternatives":        {object(`{"anyOf":[]}`), ""},
		"too many values":        {object(`{"type":"integer","enum":[` + strings.Repeat("1,", 1000) + `1]}`), ""},
		"a property twice":       {`{"type":"object","properties":{"a":{"type":"string"},"a":{}},"required":["a"]}`, ""},
		"required is no list":    {`{"type":"object","properties":{"a":{"type":"string"}},"required":"a"}`, ""},
		"null":                   {`null`, ""},
		"not JSON":               {`{"type":"object","properties":`, ""},
		"alternatives no list":   {object(`{"anyOf":{}}`), ""},
		"properties no mapping":  {`{"type":"object","properties":[],"required":[]}`, ""},
		"a type that is unknown": {object(`{"type":7,"allOf":[]}`), ""},
	} {
		got, ok := strictSchema(json.RawMessage(tt[0]))
		if ok != (tt[1] != "") || ok && string(got) != tt[1] {
			t.Errorf("%s: %s becomes %s (%v), want %s", name, tt[0], got, ok, tt[1])
		}
	}
}

// drawSchema draws a schema that may or may not fit strict mode.
func drawSchema(t *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	kind := rapid.SampledFrom([]string{"object", "array", "string", "anyOf", ""}).Draw(t, "kind")
	if depth == 0 && kind != "object" {
		kind = "object"
	}
	switch {
	case kind == "" || depth > 4:
		s["type"] = "integer"
	case kind == "anyOf":
		s["anyOf"] = []any{drawSchema(t, depth+1), drawSchema(t, depth+1)}
	case kind == "array":
		s["type"], s["items"] = kind, drawSchema(t, depth+1)
	case kind == "object":
		properties, required := map[string]any{}, []string{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c\"", "items"}), 1, 3, rapid.ID).Draw(t, "names") {
			properties[name] = drawSchema(t, depth+1)
			if rapid.IntRange(0, 9).Draw(t, "required") > 0 {
				required = append(required, name)
			}
		}
		s["type"], s["properties"], s["required"] = kind, properties, required
	default:
		s["type"] = kind
	}
	if rapid.IntRange(0, 19).Draw(t, "extra") == 0 {
		s[rapid.SampledFrom([]string{"default", "minLength", "title", "not"}).Draw(t, "keyword")] = "x"
	}
	return s
}

// TestStrictSchemasStayStrict checks that a strict schema is JSON, fits strict mode unchanged, and
// has only closed objects.
func TestStrictSchemasStayStrict(t *testing.T) {
	var checkClosed func(t *rapid.T, v any)
	checkClosed = func(t *rapid.T, v any) {
		s, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("%v is no schema", v)
		}
		if s["type"] == "object" {
			properties := s["properties"].(map[string]any)
			if s["additionalProperties"] != false || len(s["required"].([]any)) != len(properties) {
				t.Fatalf("the object %v is open", s)
			}
			for _, p := range properties {
				checkClosed(t, p)
			}
		}
		if items, ok := s["items"]; ok && s["type"] == "array" {
			checkClosed(t, items)
		}
		for _, alternative := range anyList(s["anyOf"]) {
			checkClosed(t, alternative)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		given, err := json.Marshal(drawSchema(t, 0))
		if err != nil {
			t.Fatal(err)
		}
		strict, ok := strictSchema(given)
		if !ok {
			return
		}
		var parsed any
		if err := json.Unmarshal(strict, &parsed); err != nil {
			t.Fatalf("%s: %v", strict, err)
		}
		checkClosed(t, parsed)
		if again, ok := strictSchema(strict); !ok || string(again) != string(strict) {
			t.Fatalf("%s becomes %s (%v)", strict, again, ok)
		}
	})
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

// FuzzStrictSchema checks that no schema does harm, however broken it is.
func FuzzStrictSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#"}]}},"required":["a"]}`))
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		if strict, ok := strictSchema(schema); ok && !json.Valid(strict) {
			t.Fatalf("%s becomes %s", schema, strict)
		}
	})
}
