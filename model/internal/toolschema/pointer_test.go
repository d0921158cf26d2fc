package toolschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestPointers(t *testing.T) {
	places := readPlaces(json.RawMessage(` { "$defs" : {"a/b~": {"type": "string"}, "a": 1, "a": null, "": [ true , {"x":"]"} ]}, "n": -1.5e3 } `))
	for path, want := range map[string]string{
		"$defs/a~1b~0": `{"type": "string"}`,
		"$defs/a":      "null",
		"$defs/":       `[ true , {"x":"]"} ]`,
		"$defs//0":     "true",
		"$defs//1/x":   `"]"`,
		"n":            "-1.5e3",
		"$defs//2":     "",
		"$defs//-1":    "",
		"$defs/a/b":    "",
		"n/n":          "",
		"other":        "",
	} {
		if got := places.pointedAt(path); string(got) != want {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
	}
	if got := readPlaces(json.RawMessage(`{"a":`)).pointedAt("a"); got != nil {
		t.Errorf("a broken document has %s", got)
	}
}

// manyReferences returns a schema with n properties that each refer to a definition.
func manyReferences(n int) json.RawMessage {
	var properties, definitions strings.Builder
	for i := range n {
		fmt.Fprintf(&properties, `,"p%d":{"$ref":"#/$defs/d%d"}`, i, i)
		fmt.Fprintf(&definitions, `,"d%d":{"type":"string","description":%q}`, i, strings.Repeat("x", 100))
	}
	return json.RawMessage(`{"type":"object","properties":{` + properties.String()[1:] + `},"$defs":{` + definitions.String()[1:] + `}}`)
}

// TestReferencesAreFollowedInLinearTime compares the memory used for schemas, which grows like the
// time: reading the document for each reference would take 64 times as much for a schema of 8 times
// the size.
func TestReferencesAreFollowedInLinearTime(t *testing.T) {
	size := func(n int) int64 {
		schema := manyReferences(n)
		return testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				if _, err := Gemini.mapSchema(schema); err != nil {
					b.Fatal(err)
				}
			}
		}).AllocedBytesPerOp()
	}
	if few, many := size(50), size(400); many > 12*few {
		t.Errorf("50 references take %d bytes, 400 take %d", few, many)
	}
}

func BenchmarkManyReferences(b *testing.B) {
	schema := manyReferences(400)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Gemini.mapSchema(schema); err != nil {
			b.Fatal(err)
		}
	}
}
