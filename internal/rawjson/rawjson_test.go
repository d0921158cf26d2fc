package rawjson_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

func TestWhatIsEncodedDecodesToItself(t *testing.T) {
	t.Parallel()
	for raw, encoded := range map[string]string{
		`{"a":1}`:       `{"a":1}`,
		`{"a":`:         `"{\"a\":"`,
		``:              `""`,
		`"{\"a\": 1}"`:  `"\"{\\\"a\\\": 1}\""`,
		` "with space"`: `" \"with space\""`,
		`null`:          `null`,
	} {
		got := rawjson.Encode(json.RawMessage(raw))
		if string(got) != encoded {
			t.Errorf("Encode(%s) = %s, want %s", raw, got, encoded)
		}
		back, err := rawjson.Decode(got)
		if err != nil || string(back) != raw {
			t.Errorf("Decode(%s) = %s, %v; want %s", got, back, err, raw)
		}
	}
}
