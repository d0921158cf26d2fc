package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

func levels(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestWhatIsEncodedDecodesToItself(t *testing.T) {
	t.Parallel()
	for raw, encoded := range map[string]string{
		`{"a":1}`:       `{"a":1}`,
		`{"a":`:         `"{\"a\":"`,
		``:              `""`,
		`"{\"a\": 1}"`:  `"\"{\\\"a\\\": 1}\""`,
		` "with space"`: `" \"with space\""`,
		`null`:          `null`,
		`{"[\"[":[{}]}`: `{"[\"[":[{}]}`,
		levels(1000):    levels(1000),
		levels(1001):    `"` + levels(1001) + `"`,
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

func TestWhatIsNoUTF8IsEncodedAsAString(t *testing.T) {
	t.Parallel()
	if got := rawjson.Encode(json.RawMessage("{\"a\":\"\xff\"}")); string(got) != `"{\"a\":\"\ufffd\"}"` {
		t.Errorf("it is encoded as %s", got)
	}
}

func TestAFaultHasItsPlace(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"a": [1]}`:  "",
		` null `:      "",
		``:            "unexpected end of JSON input at byte 0",
		`{"a": 'x'}`:  `invalid character '\'' looking for beginning of value at byte 7`,
		`{"a": 1} }`:  `invalid character '}' after top-level value at byte 10`,
		`{"a": "x\n`:  "unexpected end of JSON input at byte 10",
		"\x00":        `invalid character '\x00' looking for beginning of value at byte 1`,
		"{\"a\":\xff": `invalid character 'ÿ' looking for beginning of value at byte 6`,
	} {
		if got := rawjson.Fault([]byte(raw)); got != want {
			t.Errorf("Fault(%q) = %s, want %s", raw, got, want)
		}
	}
}

func TestWhatIsRepairedIsJSON(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"a":1}`:                     `{"a":1}`,
		`"text"`:                      `"text"`,
		`{"a":`:                       `"{\"a\":"`,
		"\x00":                        `"\u0000"`,
		`{"a":"` + "\xff" + `"}`:      `"{\"a\":\"\ufffd\"}"`,
		`{"a":1e999999,"a":"\ud800"}`: `{"a":1e999999,"a":"\ud800"}`,
		levels(1001):                  `"` + levels(1001) + `"`,
		``:                            ``,
	} {
		if got := rawjson.Repair(json.RawMessage(raw)); string(got) != want {
			t.Errorf("Repair(%.40q) = %.60s, want %.60s", raw, got, want)
		}
	}
}

func TestAnObjectHoldsWhatIsNone(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"a":1}`:                    `{"a":1}`,
		` {"a":1} `:                  ` {"a":1} `,
		``:                           `{}`,
		` null `:                     `{}`,
		`{"a":`:                      `{"malformed":"{\"a\":"}`,
		`"{\"a\":"`:                  `{"malformed":"{\"a\":"}`,
		`"text"`:                     `{"malformed":"text"}`,
		`[1]`:                        `{"malformed":"[1]"}`,
		`7`:                          `{"malformed":"7"}`,
		`{"a":` + levels(1000) + `}`: `{"malformed":"{\"a\":` + levels(1000) + `}"}`,
	} {
		if got := rawjson.Object(json.RawMessage(raw)); string(got) != want {
			t.Errorf("Object(%.40q) = %.60s, want %.60s", raw, got, want)
		}
	}
}

// measure counts levels and values with the standard library.
func measure(t testing.TB, raw []byte) (depth, values int) {
	t.Helper()
	var count func(value any, level int)
	count = func(value any, level int) {
		values++
		switch v := value.(type) {
		case []any:
			depth = max(depth, level+1)
			for _, one := range v {
				count(one, level+1)
			}
		case map[string]any:
			depth = max(depth, level+1)
			for _, one := range v {
				count(one, level+1)
			}
		}
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	count(value, 0)
	return depth, values
}

func FuzzMeasureCountsLevelsAndValues(f *testing.F) {
	for _, seed := range append(odd, ` { "a,b" : [ ] , "c\"," : [ {} , [[1]] , "[,{" , "" ] } `) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || rawjson.DuplicateKeys(raw) != nil || !utf8.Valid(raw) {
			return
		}
		depth, values := rawjson.Measure(raw)
		if wantDepth, wantValues := measure(t, raw); depth != wantDepth || values != wantValues {
			t.Errorf("%s has %d levels and %d values, want %d and %d", raw, depth, values, wantDepth, wantValues)
		}
	})
}
