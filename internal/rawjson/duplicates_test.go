package rawjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// repeatsKey reports whether an object contains a key twice, based on the tokens of encoding/json.
func repeatsKey(d *json.Decoder) (bool, error) {
	token, err := d.Token()
	if err != nil {
		return false, err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return false, nil
	}
	found, seen := false, map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return false, err
			}
			text, _ := key.(string)
			found, seen[text] = found || seen[text], true
		}
		inner, err := repeatsKey(d)
		if err != nil {
			return false, err
		}
		found = found || inner
	}
	_, err = d.Token()
	return found, err
}

func FuzzDuplicateKeys(f *testing.F) {
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"a":1,"\u0061":2}`, `[{"x":{"b":{},"b":[]}}]`, `{"a":"a","b":{"a":1}}`, `{"\ud800":1,"\udfff":2}`, `"a"`, `{"a\"":1,"a":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !rawjson.Valid(raw) {
			return
		}
		tokens := json.NewDecoder(bytes.NewReader(raw))
		tokens.UseNumber() // valid JSON may exceed the float64 range
		want, err := repeatsKey(tokens)
		if err != nil {
			t.Fatal(err)
		}
		if got := rawjson.DuplicateKeys(raw); (got != nil) != want {
			t.Errorf("%q: %v, want %v", raw, got, want)
		}
	})
}
