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

// TestResultSchemaIsDescribed checks that the model receives a tool's result schema if there is
// room for it.
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
		"little room":    {model.Tool{Description: strings.Repeat("x", 1000), Output: schema}, strings.Repeat("x", 1024-len("…\n\n"+said)) + "…\n\n" + said},
		"a long one":     {model.Tool{Description: strings.Repeat("x", 2000), Output: schema}, strings.Repeat("x", 2000) + "\n\n" + said},
		"a long schema":  {model.Tool{Description: "Looks.", Output: json.RawMessage(`{"title":"` + strings.Repeat("x", 1000) + `"}`)}, "Looks."},
		"broken":         {model.Tool{Description: "Looks.", Output: json.RawMessage(`{`)}, "Looks."},
	} {
		if got := describeTool(&tt.tool, ""); got != tt.want {
			t.Errorf("%s: the description is %q, want %q", name, got, tt.want)
		}
	}
}

// TestConstraintsOfArgumentsAreToldBeforeADescriptionIsWhole checks that the note on arguments is
// never omitted.
func TestConstraintsOfArgumentsAreToldBeforeADescriptionIsWhole(t *testing.T) {
	note := "The arguments must also satisfy this JSON Schema: " + strings.Repeat("s", 600)
	for _, length := range []int{0, 10, 900, 1024, 3000} {
		got := describeTool(&model.Tool{Description: strings.Repeat("x", length), Output: json.RawMessage(`{"title":"` + strings.Repeat("o", 500) + `"}`)}, note)
		if !strings.HasSuffix(got, note) || length <= longestDescription && len(got) > longestDescription {
			t.Errorf("a description of %d bytes becomes one of %d: %s", length, len(got), got)
		}
	}
}
