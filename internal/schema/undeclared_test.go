package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/schema"
)

func TestFindUndeclared(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"properties": {"city": {}}, "required": ["city"]}`:                                          "",
		`{"properties": {"city": {}}, "required": ["city", "cty"]}`:                                   "required/1",
		`{"properties": {"at": {"properties": {"x": {}}, "required": ["y"]}}}`:                        "properties/at/required/0",
		`{"properties": {"all": {"items": {"properties": {"x": {}}, "required": ["x", "y", "z"]}}}}`:  "properties/all/items/required/1 properties/all/items/required/2",
		`{"properties": {"x": {}}, "required": ["y"], "additionalProperties": false}`:                 "required/0",
		`{"properties": {"x": {}}, "required": ["y"], "additionalProperties": {"type": "string"}}`:    "",
		`{"properties": {"x": {}}, "required": ["y"], "patternProperties": {"^y": {}}}`:               "",
		`{"properties": {"x": {}}, "required": ["y"], "allOf": [{"properties": {"y": {}}}]}`:          "",
		`{"properties": {"x": {}}, "required": ["y"], "$ref": "#/$defs/y"}`:                           "",
		`{"properties": {"x": {}, "y": {}}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}`:     "",
		`{"type": "object", "required": ["y"]}`:                                                       "",
		`{"properties": {"x": {}}, "required": true}`:                                                 "",
		`{"properties": {"required": {}, "properties": {"type": "array"}}, "required": ["required"]}`: "",
		`true`: "",
	} {
		var places []string
		for _, one := range schema.FindUndeclared(json.RawMessage(raw)) {
			places = append(places, strings.Join(one.Path, "/"))
		}
		if got := strings.Join(places, " "); got != want {
			t.Errorf("%s: found %q, want %q", raw, got, want)
		}
	}
}
