package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

//docs:region readme

type order struct {
	Number string `json:"number" jsonschema:"The number of the order."`
}

func payOrder(_ context.Context, in order) (string, error) { return "paid " + in.Number, nil }

func Example_readme() {
	demo, err := scripted.New(scripted.Script{Replies: []scripted.Reply{ // or a vendor: model/openai
		{ToolCalls: []model.ToolCall{{Name: "pay", Arguments: json.RawMessage(`{"number": "A-17"}`)}}},
		{Text: "Order A-17 is paid."},
	}})
	if err != nil {
		log.Fatal(err)
	}
	rt, err := builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("pay", &tools.Func[order, string]{Description: "Pays an order.", Effect: tools.Once, Run: payOrder}).
		WithAgentSpec(spec.Agent{ID: "clerk", ModelID: "default", AllowedTools: spec.Names{"pay"}}).
		Build() // resolves every agent; the error lists every mistake
	if err != nil {
		log.Fatal(err)
	}
	result, err := rt.Run(context.Background(), runtime.Prompt("clerk", "Pay order A-17."), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, "after", result.Steps, "steps:", result.Response)
	// Output: succeeded after 2 steps: Order A-17 is paid.
}

//docs:end
