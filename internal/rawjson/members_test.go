package rawjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// FuzzMembers compares Members of valid JSON with encoding/json.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{`{}`, ` { "a" : 1 , "b":[{"a":"}"}]} `, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `[1]`, `{"a":}`, `{"a":1}x`, "{\"a\xff\":null}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := rawjson.Members(raw)
		want, valid := decodeMembers(raw)
		if ok != valid || ok && !slices.EqualFunc(got, want, func(a, b rawjson.Member) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) }) {
			t.Errorf("%q: the members are %q, %v, not %q, %v", raw, got, ok, want, valid)
		}
	})
}

// decodeMembers is Members based on encoding/json.
func decodeMembers(raw []byte) (list []rawjson.Member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') || !rawjson.Valid(raw) {
		return nil, false
	}
	for d.More() {
		name, _ := d.Token()
		m := rawjson.Member{Name: name.(string)} //nolint:forcetypeassert // a key
		if d.Decode(&m.Value) != nil || rawjson.Find(list, m.Name) != nil {
			return nil, false
		}
		list = append(list, m)
	}
	return list, true
}

// Comparing each of 200,000 names with all earlier ones would take a minute.
func TestMembersOfLargeObjects(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&out, `,"name%d":%d`, i, i)
	}
	start := time.Now()
	list, ok := rawjson.Members(json.RawMessage("{" + out.String()[1:] + "}"))
	if took := time.Since(start); !ok || len(list) != 200_000 || took > 10*time.Second {
		t.Errorf("%d members, %v, after %v", len(list), ok, took)
	}
}
