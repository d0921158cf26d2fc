package rawjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

type span time.Duration

func (d *span) UnmarshalJSON(raw []byte) error {
	var text string
	return json.Unmarshal(raw, &text)
}

type Inner struct {
	X int `json:"x"`
	L []struct {
		Y map[string]int `json:"y"`
	} `json:"l"`
}

type outer struct {
	*Inner
	Nested struct{ Inner } `json:"nested"`
	D      span            `json:"d"`
	T      time.Time       `json:"t"`
	B      []byte          `json:"b"`
}

func TestErrorsOfDecodersNameNoGoTypes(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`{"x":"a"}`:           "x: must not be a JSON string",
		`{"l":[{"y":1}]}`:     "l.y: must not be a JSON number",
		`{"nested":{"x":[]}}`: "nested.x: must not be a JSON array",
		`{"d":5}`:             "d: must not be a JSON number",
		`{"t":"x"}`:           ": a time must be text like 2006-01-02T15:04:05Z07:00",
		`{"t":5}`:             ": a time must be text like 2006-01-02T15:04:05Z07:00",
		`{"b":"%"}`:           ": illegal base64 data at input byte 0",
		`[]`:                  ": must not be a JSON array",
	} {
		err := json.Unmarshal([]byte(document), new(outer))
		if err == nil {
			t.Fatal(document)
		}
		path, problem := DescribeError(err, reflect.TypeFor[outer]())
		if got := path + ": " + problem; got != want {
			t.Errorf("%s: %s, want %s", document, got, want)
		}
	}
	err := json.Unmarshal([]byte(`{"x":"a"}`), new(outer))
	if _, problem := DescribeError(strErr(err.Error()), nil); strings.Contains(problem, "Go") {
		t.Errorf("a text of encoding/json is shown as %q", problem)
	}
}

type strErr string

func (e strErr) Error() string { return string(e) }
