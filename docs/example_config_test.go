package docs_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/command"
)

const teamConfig = `version: 1
providers:
  demo: {type: scripted}
models:
  default: {provider_id: demo, upstream_model: demo}
tools:
  word_count:
    type: command
    description: Counts the words of a text.
    command: [wc, -w]
agents:
  assistant: {model_id: default}
  editor: {model_id: defualt}
`

func Example_configuration() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := dir + "/config.yaml"
	if err := os.WriteFile(path, []byte(teamConfig), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	//docs:region load

	// Kinds lists the allowed values of type fields. The binary's list is in
	// app/shipped/shipped.go.
	file, found, err := config.Load([]string{path}, config.Options{
		Kinds: config.Kinds{
			Providers: []model.ProviderKind{scripted.Kind()},
			Tools:     []tools.Kind{command.Kind()},
		},
		RequireVariables: true, // unset variables are errors
	})
	if err != nil {
		fmt.Println(err) // the file is unreadable
		return
	}
	b := builder.New().WithConfig(file)

	// Check returns the findings of Build. Complete adds the findings of the
	// loader, and the places in the file.
	_, more := b.Check(context.Background())
	for _, d := range file.Complete(found, more) {
		if d.Severity == diag.Error {
			fmt.Printf("line %d: %s (%s)\n", d.Line, d.Message, d.Hint)
		}
	}
	//docs:end
	// Output: line 13: model "defualt" is not defined (did you mean "default"?)
}

func Example_errors() {
	//docs:region errors
	_, err := builder.New().
		WithAgentSpec(spec.Agent{ID: "assistant", ModelID: "default", Delegates: []string{"helper"}}).
		Build()

	// The error is a *builder.BuildError that joins all mistakes, each with
	// its type.
	if missing, ok := errors.AsType[*resolve.ModelNotFoundError](err); ok {
		fmt.Println("no model", missing.ID, "for agent", missing.Agent)
	}
	if failed, ok := errors.AsType[*builder.BuildError](err); ok {
		for _, d := range failed.Diagnostics.Errors() {
			fmt.Println(d.Code, "at", d.Path)
		}
	}
	//docs:end
	// Output:
	// no model default for agent assistant
	// model-not-found at agents.assistant.model_id
	// agent-not-found at agents.assistant.delegates[0]
}

func newTeam() *runtime.AgentRuntime {
	demo, err := scripted.New(scripted.Script{})
	if err != nil {
		panic(err)
	}
	rt, err := builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithAgentSpec(spec.Agent{ID: "assistant", ModelID: "default"}).
		Build()
	if err != nil {
		panic(err)
	}
	return rt
}

func Example_publish() {
	rt := newTeam()
	ctx := context.Background()
	//docs:region publish
	_, err := rt.Publish(ctx, func(draft *registry.Draft) error {
		draft.Agents.Put("assistant", &spec.Agent{ID: "assistant", ModelID: "missing"})
		return nil
	})
	if invalid, ok := errors.AsType[*registry.InvalidError](err); ok {
		fmt.Println("refused:", invalid.Diagnostics[0].Message)
	}
	fmt.Println("current revision:", rt.Revision().Number())

	rev, err := rt.Publish(ctx, func(draft *registry.Draft) error {
		draft.Agents.Put("editor", &spec.Agent{ID: "editor", ModelID: "default"})
		return nil
	})
	if err == nil {
		fmt.Println("published revision:", rev.Number())
	}
	//docs:end
	// Output:
	// refused: model "missing" is not defined
	// current revision: 1
	// published revision: 2
}

func Example_resolve() {
	rt := newTeam()
	ctx := context.Background()
	//docs:region resolve
	plan, err := rt.Resolve(ctx, "assistant", resolve.Options{LocalOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("model", plan.Model, "in revision", plan.Revision.Number())
	for _, p := range plan.Local.Env.Plugins() {
		fmt.Println("plugin", p.ID)
	}
	//docs:end
	// Output:
	// model default in revision 1
	// plugin runtime:loop-actions
	// plugin runtime:max-rounds
}
