package agentruns

import (
	"context"
	"iter"
	"net/http"
	"reflect"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// full is a model that has no room.
type full struct{}

func (full) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{}, &model.Error{Class: model.Overloaded, Message: "no room"})
	}
}

// other is the same model of another vendor.
type other struct{ echoModel }

func (other) Vendor() string { return "anthropic" }

// TestTheModelIsTheOneThatAnswered has a pool move on to its second member, and
// then lose that one as well: the order matters.
func TestTheModelIsTheOneThatAnswered(t *testing.T) {
	t.Parallel()
	w := serving(t, func(s *setup) {
		s.more = func(b *builder.AgentRuntimeBuilder) {
			b.WithProvider("busy", full{}).WithModel(spec.Model{ID: "first", ProviderID: "busy", UpstreamModel: "first-1"}).
				WithProvider("spare", other{}).WithModel(spec.Model{ID: "second", ProviderID: "spare", UpstreamModel: "second-1"}).
				WithModelPool(spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "first"}, {ModelID: "second", Role: spec.RoleFailoverOnly}}})
		}
		s.settings.DefaultModel = "fast"
	})
	for _, tt := range []struct {
		name, order, more string
		want              map[string]any
	}{
		{"a member", "say x", `,"modelId":"platform:pool","reasoningLevel":40`, map[string]any{"id": "platform:second", "provider": "anthropic", "vendorModelId": "second-1", "reasoningEffort": "medium"}},
		{"a failed call", "fail unauthorized", `,"modelId":"pool"`, map[string]any{"id": "platform:pool", "provider": "busy", "vendorModelId": "pool"}},
		{"a single model", "say x", `,"reasoningLevel":"off"`, map[string]any{"id": "platform:fast", "provider": "openai", "vendorModelId": "gpt-5.5", "reasoningEffort": "off"}},
		{"no vendor", "say x", `,"modelId":"first"`, map[string]any{"id": "platform:first", "provider": "busy", "vendorModelId": "first-1"}},
	} {
		id := w.begin(tt.order, tt.more)
		list := w.events(id, "")
		last := list[len(list)-1].data
		if !reflect.DeepEqual(last["model"], tt.want) {
			t.Errorf("%s: it was %v", tt.name, last)
		}
		if again := w.events(id, ""); !reflect.DeepEqual(again, list) {
			t.Errorf("%s: another time it was %v", tt.name, again[len(again)-1].data)
		}
		if view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+id, ""); !reflect.DeepEqual(view["model"], tt.want) {
			t.Errorf("%s: it is read as %v", tt.name, view["model"])
		}
	}
}
