package evals_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/spec"
)

const cases = `
version: 1
cases:
  greeting:
    agent: greeter
    models: live
    turns:
      - prompt: Hello.
        expect: {text: {contains: [hello]}}
`

// Example runs a case with a custom grader.
func Example() {
	provider, err := scripted.New(scripted.Script{Fallback: &scripted.Reply{Text: "Hello!"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rt, err := builder.New().
		WithProvider("demo", provider).
		WithModel(spec.Model{ID: "m", ProviderID: "demo", UpstreamModel: "m"}).
		WithAgentSpec(spec.Agent{ID: "greeter", Description: "Greets.", ModelID: "m"}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()

	//docs:region runner
	suite, found := evals.Parse("greetings.yaml", []byte(cases))
	if found.HasErrors() {
		fmt.Println(found.Err())
		return
	}
	brief := func(_ context.Context, _ *evals.Case, turn *evals.TurnResult) (float64, string, error) {
		if strings.Count(turn.Response, " ") > 20 {
			return 0, "too long", nil
		}
		return 1, "", nil
	}
	runner := evals.Runner{Runtime: rt, Suite: suite, Graders: map[string]evals.Grader{"brief": brief}}
	results, err := runner.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Println(r.Case, r.Status, *r.Score)
	}
	//docs:end
	// Output: greeting passed 1
}
