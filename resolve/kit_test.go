package resolve_test

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// silent is a model that answers nothing.
type silent struct{ name string }

func (*silent) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(func(model.Event, error) bool) {}
}

// echoTool returns a tool without effect.
func echoTool(description string) tools.Tool {
	return &tools.Func[struct {
		Text string `json:"text"`
	}, string]{
		Description: description, Effect: tools.Read,
		Run: func(_ context.Context, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return in.Text, nil
		},
	}
}

// base adds the provider p and its model m.
func base(d *registry.Draft) {
	d.Providers.Put("p", &silent{name: "p"})
	d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"})
}
