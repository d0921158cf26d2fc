package docs_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// newCareful returns a runtime whose agent asks before every tool call.
func newCareful() (*runtime.AgentRuntime, error) {
	demo, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{{Name: "refund", Arguments: json.RawMessage(`{"order": "A-17"}`)}}},
		{Text: "Order A-17 is refunded."},
	}})
	if err != nil {
		return nil, err
	}
	type order struct {
		Order string `json:"order"`
	}
	refund := &tools.Func[order, string]{
		Description: "Refunds an order.",
		Run:         func(_ context.Context, in order) (string, error) { return in.Order + " refunded", nil },
	}
	//docs:region careful
	return builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("refund", refund).
		WithPlugin("permission", permission.New()).
		WithAgentSpec(spec.Agent{
			ID: "clerk", ModelID: "default", PluginIDs: []string{"permission"},
			Sections: spec.Sections{"permission": json.RawMessage(`{"rules": [{"tool": "refund", "behavior": "ask"}]}`)},
		}).
		Build()
	//docs:end
}

func Example_approve() {
	rt, err := newCareful()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	//docs:region approve
	asked := make(chan string, 1)
	sink := event.SinkFunc(func(ev event.Event) {
		if q, ok := ev.Data.(*event.InteractionRequest); ok {
			fmt.Println(q.Message)
			asked <- q.ID
		}
	})
	turn, err := rt.Start(ctx, runtime.Prompt("clerk", "Refund order A-17."), sink)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = turn.Answer(interaction.Answer{
		Target: <-asked, Action: interaction.Resume, Result: json.RawMessage(`{"approved": true}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := turn.Wait(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, result.Response)
	//docs:end
	// Output:
	// Agent clerk wants to call tool refund. By the rule "refund" that needs your approval.
	// succeeded Order A-17 is refunded.
}

func Example_suspend() {
	rt, err := newCareful()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	//docs:region suspend
	req := runtime.Prompt("clerk", "Refund order A-17.")
	result, err := rt.Run(ctx, req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, "for", result.Interactions[0].ID)
	kept, err := json.Marshal(result.State) // to be stored with the request
	if err != nil {
		fmt.Println(err)
		return
	}
	//docs:end

	//docs:region resume
	// In another process, days later.
	state, err := backend.DecodeState(kept)
	if err != nil {
		fmt.Println(err)
		return
	}
	req.TurnID, req.SessionID, req.State = result.TurnID, result.SessionID, state
	req.Answers = []interaction.Answer{{
		Target: state.Interactions()[0].ID, Action: interaction.Cancel, Reason: "the order was delivered",
	}}
	result, err = rt.Run(ctx, req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, "after", result.Steps, "steps")
	fmt.Println(result.Messages[1].Parts[0].ToolResult.Content[0].Text)
	//docs:end
	// Output:
	// waiting for perm_call_1
	// succeeded after 2 steps
	// the call was refused: the order was delivered
}

//docs:region wait

// reservation is a tool that waits until a person has chosen a seat.
type reservation struct{}

var _ tools.Tool = reservation{}

// Descriptor describes the tool.
func (reservation) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: "Reserves a seat of the customer's choice.", Effect: tools.Idempotent}
}

// Call asks and is called again when the answer arrives. Only State is kept between the two calls.
func (reservation) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	if call.Resumed == nil {
		return tools.Result{Wait: &tools.Wait{
			Questions: []interaction.Request{{
				ID: "seat", Action: "choose_seat", Message: "Which seat?",
				ResponseSchema: json.RawMessage(`{"enum": ["aisle", "window"]}`),
			}},
			State: json.RawMessage(`{"hold": "H-3"}`),
		}}, nil
	}
	answer := call.Resumed.Answers[0]
	if answer.Action == interaction.Cancel {
		return tools.ErrorResult("nobody chose a seat: " + answer.Reason), nil
	}
	return tools.TextResult(fmt.Sprintf("reserved %s with %s", answer.Result, call.Resumed.State)), nil
}

//docs:end

func Example_wait() {
	demo, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{{Name: "reserve"}}}, {Text: "Done."},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rt, err := builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("reserve", reservation{}).
		WithAgentSpec(spec.Agent{ID: "clerk", ModelID: "default"}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	req := runtime.Prompt("clerk", "A seat, please.")
	result, err := rt.Run(ctx, req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Interactions[0].Message, result.Interactions[0].Mode)
	req.TurnID, req.State = result.TurnID, result.State
	req.Answers = []interaction.Answer{{Target: "seat", Action: interaction.Resume, Result: json.RawMessage(`"floor"`)}}
	_, err = rt.Run(ctx, req, nil)
	fmt.Println(err)
	req.Answers[0].Result = json.RawMessage(`"aisle"`)
	result, err = rt.Run(ctx, req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Messages[1].Parts[0].ToolResult.Content[0].Text)
	// Output:
	// Which seat? pass_decision_to_tool
	// the answer to interaction "seat" cannot be used: it must be one of "aisle", "window"
	// reserved "aisle" with {"hold": "H-3"}
}
