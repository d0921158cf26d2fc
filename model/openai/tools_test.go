package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
)

func TestObjectSchema(t *testing.T) {
	for schema, want := range map[string]string{
		``:                  `{"type":"object","properties":{}}`,
		`null`:              `{"type":"object","properties":{}}`,
		`{}`:                `{"type":"object","properties":{}}`,
		`{"type":"object"}`: `{"type":"object","properties":{}}`,
		`{"properties":{"b":{},"a":{}},"type":"object"}`: `{"properties":{"b":{},"a":{}},"type":"object"}`,
		`{"type":"object","required":["a"]}`:             `{"type":"object","required":["a"],"properties":{}}`,
	} {
		if got, err := toolschema.OpenAI.Map(json.RawMessage(schema)); err != nil || string(got.Schema) != want {
			t.Errorf("the schema %s is sent as %s (%v), want %s", schema, got.Schema, err, want)
		}
	}
	for _, schema := range []string{`[]`, `{`, `true`} {
		req := hello()
		req.Tools = []model.Tool{{Name: "broken", Parameters: json.RawMessage(schema)}}
		_, err := offline(t, Config{}, nil).encodeRequest(req, concessions{})
		if failure := model.AsError(err); failure.Class != model.InvalidRequest || !strings.Contains(failure.Message, "broken") {
			t.Errorf("the schema %s gives %v", schema, err)
		}
	}
}

// TestResultSchemaIsDescribed checks that a model reads what a tool returns,
// where there is room for it.
func TestResultSchemaIsDescribed(t *testing.T) {
	schema := json.RawMessage("{\n  \"type\": \"string\"\n}")
	const said = `Returns JSON of this schema: {"type":"string"}`
	for name, tt := range map[string]struct {
		tool model.Tool
		want string
	}{
		"both":           {model.Tool{Description: "Looks.", Output: schema}, "Looks.\n\n" + said},
		"no description": {model.Tool{Output: schema}, said},
		"no schema":      {model.Tool{Description: "Looks."}, "Looks."},
		"no room":        {model.Tool{Description: strings.Repeat("x", 1000), Output: schema}, strings.Repeat("x", 1000)},
		"broken":         {model.Tool{Description: "Looks.", Output: json.RawMessage(`{`)}, "Looks."},
	} {
		if got := descriptionOf(&tt.tool); got != tt.want {
			t.Errorf("%s: the description is %q, want %q", name, got, tt.want)
		}
	}
}
