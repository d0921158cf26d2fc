package docs_test

//docs:region imports

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

//docs:end

//docs:region quickstart

// text is the input of the tool. The tool's JSON Schema is derived from it.
type text struct {
	Text string `json:"text" jsonschema:"The text whose words are counted."`
}

func Example_quickstart() {
	// The model calls the tool and then answers. For a vendor's model use, for example,
	// openai.New(model.Settings{ID: "openai"}, &openai.Config{APIKey: key}).
	demo, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{{Name: "word_count", Arguments: json.RawMessage(`{"text": "to be or not to be"}`)}}},
		{Text: "It has six words."},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}

	words := &tools.Func[text, int]{
		Description: "Counts the words of a text.",
		Effect:      tools.Read,
		Run: func(_ context.Context, in text) (int, error) {
			return len(strings.Fields(in.Text)), nil
		},
	}

	// Build resolves every agent once. Its error lists all mistakes.
	rt, err := builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("word_count", words).
		WithAgentSpec(spec.Agent{ID: "assistant", ModelID: "default", AllowedTools: spec.Names{"word_count"}}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}

	result, err := rt.Run(context.Background(), runtime.Prompt("assistant", "How long is Hamlet's line?"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, "after", result.Steps, "steps:", result.Response)
	// Output: succeeded after 2 steps: It has six words.
}

//docs:end
