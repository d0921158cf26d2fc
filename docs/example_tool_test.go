package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

//docs:region func

type invoiceQuery struct {
	Customer string `json:"customer" jsonschema:"The customer's number."`
	Open     bool   `json:"open,omitempty" jsonschema:"Only invoices that are not paid."`
}

type invoice struct {
	Number string  `json:"number"`
	Amount float64 `json:"amount"`
}

// invoices is a tool made from a function. Its parameters are an object with
// the required text customer and the optional boolean open.
func invoices(list func(ctx context.Context, customer string, open bool) ([]invoice, error)) tools.Tool {
	return &tools.Func[invoiceQuery, []invoice]{
		Description: "Lists the invoices of a customer.",
		Effect:      tools.Read,
		Timeout:     10 * time.Second,
		Run: func(ctx context.Context, in invoiceQuery) ([]invoice, error) {
			return list(ctx, in.Customer, in.Open)
		},
	}
}

//docs:end

//docs:region tool

// deploy is a tool that implements the interface directly.
type deploy struct{ stages []string }

var _ tools.Tool = (*deploy)(nil)

// Descriptor describes the tool. It must return the same value at every call.
func (d *deploy) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: "Deploys a release.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {"release": {"type": "string", "pattern": "^v[0-9]+$"}},
			"required": ["release"],
			"additionalProperties": false
		}`),
		Effect:  tools.Idempotent,
		Timeout: 5 * time.Minute,
		Serial:  true,
	}
}

// Call deploys. It may be called concurrently.
func (d *deploy) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	var in struct {
		Release string `json:"release"`
	}
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return tools.Result{}, err
	}
	for _, stage := range d.stages {
		if err := ctx.Err(); err != nil {
			return tools.Result{}, err
		}
		call.Host.Progress(stage + " done\n")
	}
	return tools.TextResult(in.Release + " is deployed"), nil
}

//docs:end

func Example_tool() {
	demo, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{{Name: "deploy", Arguments: json.RawMessage(`{"release": "latest"}`)}}},
		{ToolCalls: []model.ToolCall{{Name: "deploy", Arguments: json.RawMessage(`{"release": "v7"}`)}}},
		{Text: "v7 is out."},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rt, err := builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("deploy", &deploy{stages: []string{"build", "rollout"}}).
		WithTool("invoices", invoices(nil)).
		WithAgentSpec(spec.Agent{ID: "assistant", ModelID: "default"}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	//docs:region watch
	watch := event.SinkFunc(func(ev event.Event) {
		switch data := ev.Data.(type) {
		case *event.ToolCallStreamDelta:
			fmt.Print("  ", data.Delta)
		case *event.ToolCallDone:
			fmt.Println(data.Outcome, data.Result.Text())
		}
	})
	result, err := rt.Run(context.Background(), runtime.Prompt("assistant", "Deploy the release."), watch)
	//docs:end
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Response)
	// Output:
	// failed tool_input_invalid: release: it does not match the pattern ^v[0-9]+$
	//   build done
	//   rollout done
	// succeeded v7 is deployed
	// v7 is out.
}
