package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

func TestPathsThatAreNotServedAreOmitted(t *testing.T) {
	document := []byte(`
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /items: {get: {responses: {"200": {description: Items.}}}}
  /items/{item}: {get: {responses: {"200": {description: An item.}}}}
  /metrics: {get: {responses: {"200": {description: Metrics.}}}}
`)
	for prefix, want := range map[string][]string{
		"/metrics": {"/items", "/items/{item}"},
		"/items":   {"/metrics"},
		"/none":    {"/items", "/items/{item}", "/metrics"},
	} {
		var got struct{ Paths map[string]any }
		if err := json.Unmarshal(OmitPaths(document, prefix), &got); err != nil {
			t.Fatal(err)
		}
		if left := slices.Sorted(maps.Keys(got.Paths)); !slices.Equal(left, want) {
			t.Errorf("without %s it has %q, want %q", prefix, left, want)
		}
	}
	if invalid := []byte("openapi: ["); string(OmitPaths(invalid, "/")) != string(invalid) {
		t.Error("an invalid description was changed")
	}
}
