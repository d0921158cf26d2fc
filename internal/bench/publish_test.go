package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// crowd returns a runtime of many agents over 200 tools. Half of the agents have a
// catalog, and a fifth calls the first agent.
func crowd(tb testing.TB, agents int) *runtime.AgentRuntime {
	tb.Helper()
	b := builder.New().
		WithProvider("demo", script(tb, 1)).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "replay"})
	for i := range 200 {
		b.WithTool(fmt.Sprintf("tool_%03d", i), &tools.Func[cityArguments, string]{
			Description: "Weather of a city.", Effect: tools.Read, Run: weather,
		})
	}
	for i := range agents {
		b.WithAgentSpec(crowdAgent(i, "You are helpful."))
	}
	rt, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

// crowdAgent returns one agent of a crowd.
func crowdAgent(i int, prompt string) spec.Agent {
	a := spec.Agent{ID: fmt.Sprintf("agent%05d", i), ModelID: "default", SystemPrompt: spec.Prompt(prompt)}
	if i%2 == 1 {
		a.AllowedToolPatterns = spec.Names{fmt.Sprintf("tool_%d*", i%2)}
		a.ExcludedTools = spec.Names{"tool_107"}
	}
	if i%5 == 1 {
		a.Delegates = []string{"agent00000"}
		if i%2 == 1 {
			a.AllowedToolPatterns = append(a.AllowedToolPatterns, "agent_run_*")
		}
	}
	return a
}

// BenchmarkPublish measures publishing one changed agent of many.
func BenchmarkPublish(b *testing.B) {
	for _, agents := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) { benchmarkPublish(b, agents) })
	}
}

func benchmarkPublish(b *testing.B, agents int) {
	rt := crowd(b, agents)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		changed := crowdAgent(agents/2, fmt.Sprintf("You are helpful, in version %d.", n))
		_, err := rt.Publish(context.Background(), func(d *registry.Draft) error {
			d.Agents.Put(changed.ID, &changed)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
