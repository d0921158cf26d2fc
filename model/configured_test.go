package model_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// seen is an executor that records its request.
type seen struct{ request model.Request }

func (s *seen) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(func(model.Event, error) bool) { s.request = *req }
}

func TestSettingsOfARequestWinOverThoseOfTheModel(t *testing.T) {
	base := &seen{}
	c := &model.Configured{
		Executor: base, Params: model.Params{Temperature: new(0.5), Seed: new(1), Stop: []string{"m"}, Verbosity: "low"},
		Edits:    &spec.RequestEdits{Omit: []string{"store", "text.x"}, Set: map[string]json.RawMessage{"user": []byte("1"), "tier": []byte("2")}},
		KeepTags: true,
	}
	req := &model.Request{
		Params: model.Params{Seed: new(2), ServiceTier: "flex", Stop: []string{"a"}},
		Edits:  &spec.RequestEdits{Omit: []string{"user"}, Set: map[string]json.RawMessage{"text": []byte("{}")}},
	}
	for range c.Stream(t.Context(), req) {
	}
	want := model.Params{Temperature: new(0.5), Seed: new(2), Stop: []string{"a"}, Verbosity: "low", ServiceTier: "flex"}
	if diff := cmp.Diff(want, base.request.Params); diff != "" {
		t.Errorf("the parameters (-want +got):\n%s", diff)
	}
	edits := &spec.RequestEdits{Omit: []string{"store", "user"}, Set: map[string]json.RawMessage{"tier": []byte("2"), "text": []byte("{}")}}
	if diff := cmp.Diff(edits, base.request.Edits); diff != "" {
		t.Errorf("the edits (-want +got):\n%s", diff)
	}
	if !base.request.KeepTags {
		t.Error("the tags are not kept")
	}
	if req.Temperature != nil || req.KeepTags || len(req.Edits.Omit) != 1 {
		t.Error("the request was changed")
	}
}
