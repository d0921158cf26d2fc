package sqlstore_test

import (
	"maps"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

type row = sqlstore.SessionRow[int64]

func TestRowsWithTheSameLabelsShareNoMap(t *testing.T) {
	t.Parallel()
	texts := []string{`{"a":"1"}`, `{"a":"1"}`, "", `{"a":"1"}`, `{"b":"2","c":"3"}`, `null`, `null`, `{}`, `{"a":"1"}`}
	wants := []map[string]string{{"a": "1"}, {"a": "1"}, nil, {"a": "1"}, {"b": "2", "c": "3"}, nil, nil, {}, {"a": "1"}}
	rows := make([]row, len(texts))
	for i, text := range texts {
		if text != "" {
			rows[i].Labels = []byte(text)
		}
	}
	record := func(r *row, labels *sqlstore.Labels) (*store.Session, error) { return r.Record(time.UnixMicro, labels) }
	sessions, err := sqlstore.Sessions(rows, record)
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
	if _, err := sqlstore.Sessions([]row{rows[0], {ID: "broken", Labels: []byte(`{"a":1}`)}}, record); err == nil {
		t.Error("labels that cannot be read are no error")
	}
}
