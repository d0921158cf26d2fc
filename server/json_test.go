package server_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/server"
)

func TestABodyThatIsNotJSONHasThePlaceOfTheError(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"prompt=hello":            "body is not valid JSON: invalid character 'p' looking for beginning of value at byte 1",
		`{"prompt": 'hello'}`:     `body is not valid JSON: invalid character '\'' looking for beginning of value at byte 12`,
		"\ufeff{}":                "body is not valid JSON: invalid character 'ï' looking for beginning of value at byte 1",
		`{"prompt" "hello"}`:      `body is not valid JSON: invalid character '"' after object key at byte 11`,
		`{"prompt": "hello",}`:    "body is not valid JSON: invalid character '}' looking for beginning of object key string at byte 20",
		`{"a":1,"b":{"a":1},}`:    "body is not valid JSON: invalid character '}' looking for beginning of object key string at byte 20",
		`{"prompt":1,"prompt":2}`: `body: the key "prompt" is there twice`,
	} {
		if err := server.DecodeJSON([]byte(body), new(map[string]any), false); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
