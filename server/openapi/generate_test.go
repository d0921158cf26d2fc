package openapi

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestAnyJSONIsDescribedAsAnyValue(t *testing.T) {
	type body struct {
		Data json.RawMessage            `json:"data"`
		More map[string]json.RawMessage `json:"more"`
		All  []json.RawMessage          `json:"all"`
	}
	text, err := json.Marshal((&generator{Surface: &Surface{}, schemas: object{}}).schemaOf(reflect.TypeFor[body]()))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties struct {
			Data any
			More struct{ AdditionalProperties any }
			All  struct{ Items any }
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]any{"data": s.Properties.Data, "more": s.Properties.More.AdditionalProperties, "all": s.Properties.All.Items} {
		if got != true {
			t.Errorf("%s is described by %v in %s", name, got, text)
		}
	}
}
