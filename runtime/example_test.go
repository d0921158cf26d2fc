package runtime_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// weatherModel stands for a vendor: it asks for the weather once, and then
// repeats what it learnt.
type weatherModel struct{}

func (weatherModel) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role != model.RoleTool {
			_ = yield(model.Event{Type: model.EventToolCallStart, ID: "call_1", Name: "weather"}, nil) &&
				yield(model.Event{Type: model.EventToolCallEnd, Delta: `{"city":"Paris"}`}, nil) &&
				yield(model.Event{Type: model.EventFinish, Reason: model.FinishToolCalls}, nil)
			return
		}
		text := "It is " + model.PartsText(last.Parts[0].ToolResult.Content)
		_ = yield(model.Event{Type: model.EventText, Delta: text}, nil) &&
			yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
	}
}

func ExampleAgentRuntime_Events() {
	type place struct {
		City string `json:"city"`
	}
	weather := &tools.Func[place, string]{
		Description: "Tells the weather of a city.",
		Effect:      tools.Read,
		Run:         func(_ context.Context, in place) (string, error) { return "sunny in " + in.City, nil },
	}
	rt, err := builder.New().
		WithProvider("demo", weatherModel{}).
		WithModel(spec.Model{ID: "small", ProviderID: "demo", UpstreamModel: "demo-1"}).
		WithTool("weather", weather).
		WithAgentSpec(spec.Agent{ID: "guide", ModelID: "small", Description: "Knows the weather."}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range rt.Events(context.Background(), runtime.Prompt("guide", "How is Paris?")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if text, ok := ev.Data.(*event.TextDelta); ok {
			fmt.Println(text.Delta)
		}
	}
	// Output: It is sunny in Paris
}

func ExampleAgentRuntime_Run() {
	type place struct {
		City string `json:"city" jsonschema:"where to look"`
	}
	weather := &tools.Func[place, string]{
		Description: "Tells the weather of a city.",
		Effect:      tools.Read,
		Run:         func(_ context.Context, in place) (string, error) { return "sunny in " + in.City, nil },
	}
	rt, err := builder.New().
		WithProvider("demo", weatherModel{}).
		WithModel(spec.Model{ID: "small", ProviderID: "demo", UpstreamModel: "demo-1"}).
		WithTool("weather", weather).
		WithAgentSpec(spec.Agent{ID: "guide", ModelID: "small", SystemPrompt: "You know the weather."}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	shows := event.SinkFunc(func(ev event.Event) { fmt.Println(ev.Seq, ev.Data.Type()) })
	result, err := rt.Run(context.Background(), runtime.Prompt("guide", "How is Paris?"), shows)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, result.Response)
	// Output:
	// 1 run_start
	// 2 step_start
	// 3 tool_call_start
	// 4 tool_call_delta
	// 5 tool_call_ready
	// 6 inference_complete
	// 7 tool_call_done
	// 8 step_end
	// 9 step_start
	// 10 text_delta
	// 11 inference_complete
	// 12 step_end
	// 13 run_finish
	// succeeded It is sunny in Paris
}
