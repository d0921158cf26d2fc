package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

func Example_output() {
	// A model that must be told twice. It stands in for a vendor, which is constrained to the
	// schema.
	demo, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{Text: "It is urgent!"},
		{Text: `{"priority": "high", "queue": "billing"}`},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rt, err := builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithAgentSpec(spec.Agent{ID: "triage", ModelID: "default"}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	//docs:region output
	req := runtime.Prompt("triage", "I was charged twice!")
	req.Overrides = resolve.Overrides{Output: &spec.OutputSchema{
		Name: "ticket",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {"priority": {"enum": ["low", "high"]}, "queue": {"type": "string"}},
			"required": ["priority", "queue"],
			"additionalProperties": false
		}`),
	}}
	result, err := rt.Run(ctx, req, nil)
	if failed, ok := errors.AsType[*model.Error](err); ok && failed.Class == model.InvalidOutput {
		fmt.Println("the second answer did not fit either")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	var ticket struct{ Priority, Queue string }
	if err := json.Unmarshal([]byte(result.Response), &ticket); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ticket.Priority, ticket.Queue, "after", result.Steps, "steps")
	//docs:end
	// Output: high billing after 2 steps
}
