package resolve_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// crowd returns what publishes many agents, some of which have a catalog, a
// delegate or both, over many tools.
func crowd(agents, tools int) func(*registry.Draft) error {
	return func(d *registry.Draft) error {
		base(d)
		for i := range tools {
			d.Tools.Put(fmt.Sprintf("tool_%03d", i), echoTool("A tool of the crowd."))
		}
		for i := range agents {
			a := spec.Agent{ID: fmt.Sprintf("agent%05d", i), ModelID: "m"}
			if i%2 == 1 {
				a.AllowedToolPatterns = spec.Names{fmt.Sprintf("tool_%d*", i%10), "agent_run_*"}
				a.ExcludedTools = spec.Names{"tool_007"}
			}
			if i%5 == 1 {
				a.Delegates = []string{"agent00000"}
			}
			d.Agents.Put(a.ID, &a)
		}
		return nil
	}
}

// BenchmarkCheck measures the dry run of a whole revision, from nothing.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []struct{ agents, tools int }{{1_000, 200}, {10_000, 200}} {
		b.Run(fmt.Sprintf("agents=%d/tools=%d", size.agents, size.tools), func(b *testing.B) {
			store := registry.NewStore(resolve.Check)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				rev, err := store.PublishUnchecked(context.Background(), func(d *registry.Draft) error {
					d.Set = registry.NewSet()
					return crowd(size.agents, size.tools)(d)
				})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := resolve.Check(b.Context(), rev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
