package schema_test

import (
	"encoding/json"
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
		{`{}`, []string{`"city" is missing`}},
		{`{"city": 3}`, []string{`city: it is a number, but must be a string`}},
		{`{"city": "x", "unit": "k"}`, []string{`unit: it must be one of "c", "f"`}},
		{`{"city": "x", "days": [1, "b"]}`, []string{`days.1: it is a string, but must be an integer`}},
		{`{"city": "x", "town": 1}`, []string{`town: "town" is not a known key`}},
		{`{"city": "x", "when": true}`, []string{`when: it fits none of the allowed forms: it is a boolean, but must be a string; or it is a boolean, but must be an integer`}},
		{`[]`, []string{`it is an array, but must be an object`}},
	} {
		found, err := s.ValidateJSON([]byte(tt.value))
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

func TestValidateJSONRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(json.RawMessage(`true`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{``, `{`, `{"a":1} x`, `{"a":}`} {
		if _, err := s.ValidateJSON([]byte(text)); err == nil {
			t.Errorf("%q was taken for JSON", text)
		}
	}
}

func TestCompileRefusesWhatIsNoSchema(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:                               "no JSON",
		`{"type":`:                       "no JSON",
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

// FuzzCompile proves that no schema and no value makes the compiler or the
// validator panic.
func FuzzCompile(f *testing.F) {
	f.Add(object, `{"city": "x"}`)
	f.Add(`{"$ref": "#"}`, `1`)
	f.Add(`{"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}`, `{}`)
	f.Fuzz(func(_ *testing.T, raw, value string) {
		s, err := schema.Compile(json.RawMessage(raw))
		if err != nil {
			return
		}
		_, _ = s.ValidateJSON([]byte(value))
	})
}
