package sqlstore

import (
	"maps"
	"testing"
)

func TestRowsWithTheSameLabelsShareNoMap(t *testing.T) {
	t.Parallel()
	texts := []string{`{"a":"1"}`, `{"a":"1"}`, "", `{"a":"1"}`, `{"b":"2","c":"3"}`, `null`, `null`, `{}`, `{"a":"1"}`}
	wants := []map[string]string{{"a": "1"}, {"a": "1"}, nil, {"a": "1"}, {"b": "2", "c": "3"}, nil, nil, {}, {"a": "1"}}
	rows := make([]*SessionRow, len(texts))
	for i, text := range texts {
		rows[i] = new(SessionRow)
		if text != "" {
			rows[i].labels = []byte(text)
		}
	}
	sessions, err := sessionsOf(rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range wants {
		got := sessions[i].Labels
		if !maps.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("the labels of row %d are %v, not %v", i, got, want)
		}
		if got != nil {
			got["of"] = texts[i]
		}
	}
	if _, err := sessionsOf([]*SessionRow{rows[0], {labels: []byte(`{"a":1}`)}}); err == nil {
		t.Error("labels that cannot be read are no error")
	}
}
