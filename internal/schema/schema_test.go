package schema_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/google/go-cmp/cmp"
)

const object = `{
  "type": "object",
  "properties": {
    "city": {"type": "string", "minLength": 1},
    "unit": {"enum": ["c", "f"]},
    "days": {"type": "array", "items": {"type": "integer"}},
    "when": {"anyOf": [{"type": "string"}, {"type": "integer"}]}
  },
  "required": ["city"],
  "additionalProperties": false
}`

func TestValidateNamesThePlaceOfEachViolation(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(json.RawMessage(object))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		value string
		want  []string
	}{
		{`{"city": "Paris"}`, nil},
		{`{}`, []string{`"city" is required`}},
		{`{"city": 3}`, []string{`city: it is a number, but must be a string`}},
		{`{"city": "x", "unit": "k"}`, []string{`unit: it must be one of "c", "f"`}},
		{`{"city": "x", "days": [1, "b"]}`, []string{`days.1: it is a string, but must be an integer`}},
		{`{"city": "x", "town": 1}`, []string{`town: "town" is not a known key`}},
		{`{"city": "x", "when": true}`, []string{`when: it fits none of the allowed forms: it is a boolean, but must be a string; or it is a boolean, but must be an integer`}},
		{`[]`, []string{`it is an array, but must be an object`}},
	} {
		found, err := s.ValidateJSON(t.Context(), []byte(tt.value))
		if err != nil {
			t.Fatalf("%s: %v", tt.value, err)
		}
		var got []string
		for _, v := range found {
			got = append(got, v.Error())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: violations (-want +got):\n%s", tt.value, diff)
		}
	}
}

// Maps have no order, but violations do: by position, with list indexes in numeric order.
func TestViolationsAreInOrder(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(json.RawMessage(`{
	  "properties": {"list": {"items": {"type": "integer"}}, "z": {"type": "string"}, "a": {"type": "string"}},
	  "required": ["q", "p"], "additionalProperties": false
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`"q" is required`, `"p" is required`, `a: it is a number, but must be a string`,
		`list.2: it is a string, but must be an integer`, `list.10: it is a string, but must be an integer`,
		`x: "x" is not a known key`, `y: "y" is not a known key`, `z: it is a number, but must be a string`,
	}
	for range 50 {
		found, err := s.ValidateJSON(t.Context(), []byte(`{"z": 1, "y": 1, "x": 1, "a": 1, "list": [0, 1, "2", 3, 4, 5, 6, 7, 8, 9, "10"]}`))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range found {
			got = append(got, v.Error())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("violations (-want +got):\n%s", diff)
		}
	}
}

// An unknown key's hint is the nearest key known at its position.
func TestUnknownKeysAreOfferedTheNearest(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(json.RawMessage(`{
	  "properties": {
	    "max_retries": {},
	    "rules": {"items": {"$ref": "#/$defs/a~1rule%20%25"}},
	    "either": {"anyOf": [{"properties": {"tool": {}}, "additionalProperties": false}, {"type": "string"}]},
	    "pair": {"prefixItems": [true, {"properties": {"second": {}}, "additionalProperties": false}]}
	  },
	  "$defs": {"a/rule %": {"properties": {"tool": {}, "behavior": {}}, "additionalProperties": false}},
	  "additionalProperties": false
	}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"max_retry": 1}`:              "max_retries",
		`{"rules": [{"tol": 1}]}`:       "tool",
		`{"rules": [{"behaviour": 1}]}`: "behavior",
		`{"pair": [0, {"secnd": 1}]}`:   "second",
		`{"zzz": 1}`:                    "",
		`{"either": {"tol": 1}}`:        "", // choices are one violation
	} {
		found, err := s.ValidateJSON(t.Context(), []byte(value))
		if err != nil || len(found) != 1 || found[0].Near != want {
			t.Errorf("%s: %+v, %v; want near %q", value, found, err, want)
		}
	}
}

// Numbers are written in full, not rounded.
func TestLimitsOfNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, value, want string }{
		{`{"minimum": 0}`, `-1`, "it is -1, but must be 0 or more"},
		{`{"maximum": 3600000}`, `9999999999999`, "it is 9999999999999, but must be 3600000 or less"},
		{`{"exclusiveMinimum": 0.5}`, `0.25`, "it is 0.25, but must be more than 0.5"},
		{`{"exclusiveMaximum": 1}`, `1.0`, "it is 1, but must be less than 1"},
		{`{"multipleOf": 0.1}`, `0.15`, "it is 0.15, but must be a multiple of 0.1"},
		{`{"maximum": 1}`, `1e100`, "it is 1000000000000000000000000000000000000000…, but must be 1 or less"},
	} {
		s, err := schema.Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.ValidateJSON(t.Context(), []byte(tt.value))
		if err != nil || len(found) != 1 || found[0].Error() != tt.want {
			t.Errorf("%s of %s: %v, %v; want %q", tt.schema, tt.value, found, err, tt.want)
		}
	}
}

func TestValidateJSONRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(json.RawMessage(`true`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{``, `{`, `{"a":1} x`, `{"a":}`} {
		if _, err := s.ValidateJSON(t.Context(), []byte(text)); err == nil {
			t.Errorf("%q was taken for JSON", text)
		}
	}
}

func TestCompileRefusesWhatIsNoSchema(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:                               "not JSON",
		`{"type":`:                       "not JSON",
		`3`:                              "an object or a boolean",
		`"text"`:                         "an object or a boolean",
		`{"type": "strin"}`:              "type",
		`{"required": "city"}`:           "required",
		`{"$ref": "file:///etc/passwd"}`: "cannot refer to other documents",
		`{"$ref": "http://127.0.0.1/x"}`: "cannot refer to other documents",
		`{"pattern": "("}`:               "pattern",
	} {
		_, err := schema.Compile(json.RawMessage(raw))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile(%s): got error %v, want one that says %q", raw, err, want)
		}
	}
}

func TestAPatternThatCannotBeMatchedHoldsForEveryText(t *testing.T) {
	for pattern, texts := range map[string]map[string]bool{
		`^(?!\\.)x$`: {`"x"`: true, `"y"`: true, `7`: false},
		`^(?<=a)b`:   {`"c"`: true},
		`^x$`:        {`"x"`: true, `"y"`: false},
	} {
		s, err := schema.Compile([]byte(`{"type":"string","pattern":"` + pattern + `"}`))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for text, fits := range texts {
			if found, err := s.ValidateJSON(t.Context(), []byte(text)); err != nil || (len(found) == 0) != fits {
				t.Errorf("%s: %s: %v, %v", pattern, text, found, err)
			}
		}
	}
	if _, err := schema.Compile([]byte(`{"pattern":"("}`)); err == nil {
		t.Error("an invalid pattern is accepted")
	}
}

// Numbers with an enormous exponent are rejected: the library panics on some and is slow on others.
// A model may write such a number as an argument.
func TestNumbersOutOfRange(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(json.RawMessage(`{"maximum": 1, "items": {"multipleOf": 3}, "additionalProperties": {"minimum": 0}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{`1e9999999`, `1E+9999999`, `1e-9999999`, `[3, 1e1001]`, `{"a": {"b": -1e999999}}`, `1e99999999999999999999999`} {
		if found, err := s.ValidateJSON(t.Context(), []byte(value)); err == nil || !strings.Contains(err.Error(), "is out of range") {
			t.Errorf("%s: %v, %v", value, found, err)
		}
	}
	for _, value := range []string{`1e-300`, `[3e300]`, `"1e9999999"`, `0.1e1`} {
		if found, err := s.ValidateJSON(t.Context(), []byte(value)); err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", value, found, err)
		}
	}
	for _, raw := range []string{`{"maximum": 1e9999999}`, `{"multipleOf": 1e-9999999}`, `{"const": 1e9999999}`} {
		if _, err := schema.Compile(json.RawMessage(raw)); err == nil {
			t.Errorf("%s was taken for a schema", raw)
		}
	}
}

// FuzzCompile verifies that no schema and no value makes the compiler or the validator panic.
func FuzzCompile(f *testing.F) {
	f.Add(object, `{"city": "x"}`)
	f.Add(`{"$ref": "#"}`, `1`)
	f.Add(`{"maximum": 1, "multipleOf": 3}`, `1e9999999`)
	f.Add(`{"additionalProperties": false, "properties": {"a": {"minimum": 0.1}}}`, `{"b": 1, "a": 0.05}`)
	f.Add(`{"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}`, `{}`)
	f.Fuzz(func(t *testing.T, raw, value string) {
		s, err := schema.Compile(json.RawMessage(raw))
		if err != nil {
			return
		}
		_, _ = s.ValidateJSON(t.Context(), []byte(value))
	})
}

// TestNoErrorNamesAPlaceOfTheMachine compiles schemas for which the compiler reports the schema's
// address. The error may contain only text from the schema itself.
func TestNoErrorNamesAPlaceOfTheMachine(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		`{"$ref": "#/$defs/none"}`, `{"$ref": "#none"}`, `{"$ref": "#/a%"}`, `{"$ref": "other.json"}`, `{"$ref": "../../etc/passwd"}`, `{"$ref": "/etc/passwd"}`,
		`{"$ref": "file:///etc/passwd"}`, `{"$ref": "https://example.com/x"}`, `{"$ref": ":"}`, `{"$ref": "%zz"}`, `{"$ref": ""}`, `{"$dynamicRef": "#none"}`,
		`{"$schema": "other.json"}`, `{"$schema": "urn:x"}`, `{"$schema": "#"}`, `{"$schema": "https://json-schema.org/draft/2099/schema"}`, `{"$schema": "%zz"}`, `{"$schema": 1}`,
		`{"$id": "%zz"}`, `{"$id": "#x"}`, `{"$id": 1}`, `{"$id": "urn:x", "$ref": "y"}`, `{"$id": "a/", "$ref": "b"}`, `{"$anchor": "?"}`,
		`{"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}`, `{"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}`, `{"pattern": "("}`, `{"type": 1}`,
		`{"$vocabulary": {"urn:none": true}}`, `{"$schema": "http://json-schema.org/draft-04/schema#", "id": "%zz"}`, `{"properties": {"a": {"$ref": "#/properties/b"}}}`,
	} {
		_, err := schema.Compile(json.RawMessage(raw))
		if err == nil {
			continue
		}
		for _, hidden := range []string{here, "file:", "schema://", ".go", "/schema.json"} {
			if strings.Contains(err.Error(), hidden) && !strings.Contains(raw, hidden) {
				t.Errorf("%s: the error has %q: %v", raw, hidden, err)
			}
		}
	}
}
