package agents_test

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// visits is the custom state of the agents of the examples.
type visits struct {
	Visits int `json:"visits"`
}

// newExample returns a runtime with agents written in Go and a declared agent, helper.
func newExample(list ...agents.Definition) (*runtime.AgentRuntime, error) {
	provider, err := scripted.New(scripted.Script{Fallback: &scripted.Reply{Text: "What can I do for you?"}})
	if err != nil {
		return nil, err
	}
	b := builder.New().WithProvider("demo", provider).WithModel(spec.Model{ID: "small", ProviderID: "demo", UpstreamModel: "demo"}).
		WithAgentSpec(spec.Agent{ID: "helper", ModelID: "small"})
	if err := agents.Install(b, list...); err != nil {
		return nil, err
	}
	return b.Build()
}

// A conversation of two turns with a code-only agent. The client, here the conversation, keeps its
// typed state.
func Example() {
	ctx := context.Background()
	counter, err := agents.Custom("counter", func(_ context.Context, t *agents.Turn[visits]) (*agents.Result, error) {
		err := t.Update(func(s *visits) error { s.Visits++; return nil })
		return &agents.Result{Text: "Welcome."}, err
	}, agents.Options[visits]{ClientManaged: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	rt, err := newExample(counter)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = rt.Close() }()
	if _, err := agents.NewSet(agents.Settings{Runtime: rt, Agents: []agents.Definition{counter}}); err != nil {
		fmt.Println(err)
		return
	}
	talk, err := counter.Connect(ctx, agents.Source{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		if err := talk.Send(ctx, agents.Text("hello")); err != nil {
			fmt.Println(err)
			return
		}
		output, err := talk.Output(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(output.Text(), output.State.Custom.Visits)
	}
	// Output:
	// Welcome. 1
	// Welcome. 2
}

// Chunks of a declared agent's answer, then the turn's result.
func ExampleAgent_StreamText() {
	rt, err := newExample()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = rt.Close() }()
	helper, err := agents.Declared("helper", agents.Options[struct{}]{ClientManaged: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := agents.NewSet(agents.Settings{Runtime: rt, Agents: []agents.Definition{helper}}); err != nil {
		fmt.Println(err)
		return
	}
	text := ""
	for piece, err := range helper.StreamText(context.Background(), agents.Source{}, "hello") {
		switch {
		case err != nil:
			fmt.Println(err)
			return
		case piece.Output != nil:
			fmt.Println(text)
			fmt.Println(piece.Output.FinishReason)
		case piece.Chunk.ModelChunk != nil:
			for _, part := range piece.Chunk.ModelChunk.Content {
				text += *part.Text
			}
		}
	}
	// Output:
	// What can I do for you?
	// stop
}

// Custom code around the model of a declared agent. The client keeps the state and sends it with
// the next turn.
func ExampleCoded() {
	ctx := context.Background()
	helper, err := agents.Coded("helper", func(ctx context.Context, t *agents.Turn[visits]) (*agents.Result, error) {
		if err := t.Update(func(s *visits) error { s.Visits++; return nil }); err != nil {
			return nil, err
		}
		return t.Generate(ctx, agents.Prompt{Instructions: "Be brief."})
	}, agents.Options[visits]{ClientManaged: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	rt, err := newExample(helper)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = rt.Close() }()
	if _, err := agents.NewSet(agents.Settings{Runtime: rt, Agents: []agents.Definition{helper}}); err != nil {
		fmt.Println(err)
		return
	}
	first, err := helper.RunText(ctx, agents.Source{}, "hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := helper.RunText(ctx, helper.FromState(first.State), "hello again")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(second.Text(), second.State.Custom.Visits, len(second.State.Messages))
	// Output: What can I do for you? 2 4
}
