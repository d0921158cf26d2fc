package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestOutputSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"]}`:                                                                         `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"],"additionalProperties":false}`,
		`{"$schema":"x","type":"object","properties":{"n":{"type":"number","minimum":0,"description":"A share"}},"additionalProperties":true}`:                                   `{"type":"object","properties":{"n":{"type":"number","description":"A share {minimum: 0}"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"oneOf":[{"type":"string","format":"uuid"},{"type":"string","format":"odd"}]},"minItems":1,"maxItems":3}}}`: `{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"string","format":"uuid"},{"type":"string","description":"{format: \"odd\"}"}]},"minItems":1,"description":"{maxItems: 3}"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"enum":["a"]}}}`:                                                                                 `{"type":"object","properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"enum":["a"]}},"additionalProperties":false}`,
		`{"type":"object","additionalProperties":false}`:                                                                                                                         `{"type":"object","additionalProperties":false}`,
		// Schemas that closing would change, or that the subset does not support.
		`{"type":"object"}`: ``,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                                                            ``,
		`{"type":"object","properties":{"m":{"type":"object"}}}`:                                                                ``,
		`{"type":"object","properties":{"m":{}}}`:                                                                               ``,
		`{"type":"object","properties":{"m":true}}`:                                                                             ``,
		`{"type":"object","properties":{"a":{"not":{}}}}`:                                                                       ``,
		`{"type":"object","properties":{"a":{"type":"string"}},"if":{}}`:                                                        ``,
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"type":"array","items":{"$ref":"#/$defs/X"}}}}`: ``,
		`{"type":"object","properties":{"x":{"$ref":"#"}}}`:                                                                     ``,
		`{"type":"object","properties":{"x":{"$ref":"other.json"}}}`:                                                            ``,
		`{"type":"array","items":{"type":"string"}}`:                                                                            ``,
		`{"anyOf":[{"type":"object"}]}`:                                                                                         ``,
		`true`:                                                                                                                  ``, `{"type":`: ``, ``: ``,
	} {
		got, ok := OutputSchema(json.RawMessage(schema))
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s becomes %v %s\nwant %s", schema, ok, got, want)
		}
	}
}

func FuzzOutputSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"enum":["a"]}}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		if got, ok := OutputSchema(schema); ok && !json.Valid(got) {
			t.Errorf("%s becomes %s", schema, got)
		}
	})
}

// Reading all definitions for each reference would take a minute.
func TestOutputSchemaWithManyDefinitions(t *testing.T) {
	var properties, definitions strings.Builder
	const n = 5000
	for i := range n {
		fmt.Fprintf(&properties, `,"p%d":{"$ref":"#/$defs/d%d"}`, i, i)
		fmt.Fprintf(&definitions, `,"d%d":{"type":"string"}`, i)
	}
	schema := fmt.Sprintf(`{"type":"object","properties":{%s},"$defs":{%s}}`, properties.String()[1:], definitions.String()[1:])
	start := time.Now()
	if _, ok := OutputSchema(json.RawMessage(schema)); !ok {
		t.Error("the schema is rejected")
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("%d definitions took %v", n, took)
	}
}
