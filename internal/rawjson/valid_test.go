package rawjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// odd contains JSON and near-JSON.
var odd = []string{
	``, ` `, `null`, ` null `, `nul`, `nulll`, `true`, `falsé`, `0`, `-0`, `-`, `01`, `1.`, `1.5e`, `1.5e+`, `-1.5E-10`, `.5`, `+1`, `1 2`,
	`""`, `"`, `"a`, `"\`, `"\"`, `"\u12`, `"\u12g4"`, `"\u00e9"`, `"\x"`, "\"\x00\"", "\"12345678\x1f\"", "\"\x7f\"", "\"\xff\"", "\"\xed\xa0\x80\"", `"\ud800"`,
	"\"1234567\n\"", `"12345678"`, `"1234567\"8"`, `"ééééééé"`, "\"\uFFFD\"",
	`[]`, `[ ]`, `[`, `]`, `[,]`, `[1,]`, `[1 ,2]`, `[1,2]`, `[1 2]`, `[[],{}]`,
	`{}`, `{ }`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1,"a":2}`, `{"a" : 1}`, `{a:1}`, `{1:1}`, `{"a":1]`, `{"a":{"b":[1,{"c":null}]}}`, `{}{}`,
}

// isValid is Valid based on the standard library.
func isValid(raw []byte) bool {
	depth, _ := rawjson.Measure(raw)
	return json.Valid(raw) && utf8.Valid(raw) && depth <= 1000
}

func TestJSONHasAtMostAThousandLevels(t *testing.T) {
	if !rawjson.Valid([]byte(levels(1000))) {
		t.Error("1,000 levels are refused")
	}
	if rawjson.Valid([]byte(levels(1001))) || rawjson.Valid([]byte(levels(1_000_000))) {
		t.Error("more levels are taken")
	}
	if objects := strings.Repeat(`{"a":`, 1000) + `1` + strings.Repeat(`}`, 1000); !rawjson.Valid([]byte(objects)) || rawjson.Valid([]byte(`[`+objects+`]`)) {
		t.Error("objects are counted otherwise than lists")
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range odd {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want := isValid(raw)
		if got := rawjson.Valid(raw); got != want {
			t.Fatalf("%q: %v, want %v", raw, got, want)
		}
		compact, err := rawjson.Compact(raw)
		if (err == nil) != want {
			t.Fatalf("%q: %v, want valid: %v", raw, err, want)
		}
		if !want {
			return
		}
		var out bytes.Buffer
		if err := json.Compact(&out, raw); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(compact, out.Bytes()) {
			t.Errorf("%q became %q, want %q", raw, compact, out.Bytes())
		}
	})
}

func TestACompactCopyIsACopy(t *testing.T) {
	raw := []byte(`{"a":1}`)
	compact, err := rawjson.Compact(raw)
	if err != nil {
		t.Fatal(err)
	}
	raw[2] = 'b'
	if string(compact) != `{"a":1}` {
		t.Errorf("it became %s", compact)
	}
}

func TestTextIsCompactOrUnchanged(t *testing.T) {
	for raw, want := range map[string]string{
		`{ "a" : [1, 2] }`: `{"a":[1,2]}`, ` "x y" `: `"x y"`, "": "", `{ "a" :`: `{ "a" :`, " \"\xff\" ": " \"\xff\" ",
	} {
		if got := rawjson.CompactText([]byte(raw)); got != want {
			t.Errorf("%q became %q, want %q", raw, got, want)
		}
	}
}

// BenchmarkValid validates a value of 100 KB.
func BenchmarkValid(b *testing.B) {
	var text strings.Builder
	text.WriteByte('[')
	for i := range 1000 {
		fmt.Fprintf(&text, `{"id":%d,"name":"row number %d","note":%q},`, i, i, strings.Repeat("x", 50))
	}
	text.WriteString(`null]`)
	raw := []byte(text.String())
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if !rawjson.Valid(raw) {
			b.Fatal("it is refused")
		}
	}
}
