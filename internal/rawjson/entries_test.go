package rawjson_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

func FuzzEntriesAreThoseOfEncodingJSON(f *testing.F) {
	for _, seed := range []string{`{}`, ` { "a" : 1 , "b":{"c":[1,{"d":"}"}]} } `, `{"\u0061":"\"","":null}`, `[{"a":1}]`, `"{"`, `{"a":"\\","b":[]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !rawjson.Valid(raw) || rawjson.DuplicateKeys(raw) != nil {
			return
		}
		var want map[string]json.RawMessage
		_ = json.Unmarshal(raw, &want) // leaves nil for anything but an object
		got := make(map[string]json.RawMessage)
		for key, value := range rawjson.Entries(raw) {
			var copied json.RawMessage
			if err := json.Unmarshal(value, &copied); err != nil {
				t.Fatalf("%q: the value of %q is %q: %v", raw, key, value, err)
			}
			got[key] = copied
		}
		if len(want) != len(got) || rawjson.CountEntries(raw) != len(want) {
			t.Fatalf("%q has the entries %v, not %v", raw, got, want)
		}
		for key := range want {
			if string(want[key]) != string(got[key]) {
				t.Fatalf("%q: %q is %s, not %s", raw, key, got[key], want[key])
			}
		}
	})
}

func FuzzElementsAreThoseOfEncodingJSON(f *testing.F) {
	for _, seed := range []string{`[]`, ` [ 1 , [2,"]"],{"a":[3]} , "\\" ] `, `[[]]`, `{"a":[1]}`, `"["`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !rawjson.Valid(raw) {
			return
		}
		var want []json.RawMessage
		_ = json.Unmarshal(raw, &want) // leaves nil for anything but a list
		var got []json.RawMessage
		for element := range rawjson.Elements(raw) {
			got = append(got, element)
		}
		if !slices.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%q has the elements %q, not %q", raw, got, want)
		}
	})
}
