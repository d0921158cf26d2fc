package builder_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// A runtime needs a provider, a model and an agent; tools are Go functions.
func ExampleAgentRuntimeBuilder() {
	type place struct {
		City string `json:"city" jsonschema:"the name of the city"`
	}
	weather := &tools.Func[place, string]{
		Description: "Current weather of a city.",
		Effect:      tools.Read,
		Run: func(_ context.Context, in place) (string, error) {
			return "sunny in " + in.City, nil
		},
	}
	rt, err := builder.New().
		WithProvider("demo", says("It is sunny.")).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo-1"}).
		WithTool("weather", weather).
		WithAgentSpec(spec.Agent{
			ID:           "assistant",
			ModelID:      "default",
			SystemPrompt: "You are helpful.",
			AllowedTools: spec.Names{"weather"},
		}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := rt.Run(context.Background(), runtime.Prompt("assistant", "How is the weather?"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Response)
	// Output: It is sunny.
}

// Build returns all mistakes, each as a typed error.
func ExampleAgentRuntimeBuilder_Build_errors() {
	_, err := builder.New().
		WithProvider("demo", says("")).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo-1"}).
		WithAgentSpecs(
			spec.Agent{ID: "assistant", ModelID: "defualt", Delegates: []string{"helper"}},
			spec.Agent{ID: "helper", ModelID: "default", PluginIDs: []string{"permission"}},
		).
		Build()
	fmt.Println(err)
	if missing, ok := errors.AsType[*resolve.ModelNotFoundError](err); ok {
		fmt.Printf("agent %s wants model %s; there is %s\n", missing.Agent, missing.ID, missing.Nearest)
	}
	// Output:
	// the runtime was not built, for 2 errors:
	// model-not-found: agents.assistant.model_id: model "defualt" is not defined (did you mean "default"?)
	// plugin-not-found: agents.helper.plugin_ids[0]: plugin "permission" is not defined
	// agent assistant wants model defualt; there is default
}
