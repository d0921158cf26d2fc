package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

// BenchmarkPublishEntry publishes one changed agent of a configuration: its document is compared
// with the previous one, the changes are read and checked, and the revision is stored and made
// current.
func BenchmarkPublishEntry(b *testing.B) {
	for _, agents := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(agents, "_agents"), func(b *testing.B) {
			one := startAgents(b, agents)
			n := 0
			publish := func() {
				n++
				_, err := one.fleet.PublishEntry(b.Context(), &fleet.EntryChange{
					Registry: "agents", ID: "a1",
					Value:  json.RawMessage(fmt.Sprintf(`{"model_id":"m","system_prompt":"Version %d."}`, n)),
					Change: fleet.Change{Expected: one.fleet.Running().Hash},
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			publish() // the first one after startup reads all
			b.ReportAllocs()
			for b.Loop() {
				publish()
			}
		})
	}
}

// startAgents starts a process with a configuration of many agents.
func startAgents(b *testing.B, agents int) *process {
	var text strings.Builder
	text.WriteString("version: 1\nproviders: {p: {type: fake}}\nmodels: {m: {provider_id: p, upstream_model: up}}\nagents:\n")
	for i := range agents {
		fmt.Fprintf(&text, "  a%d: {model_id: m, system_prompt: \"You are agent %d.\"}\n", i, i)
	}
	kept := memory.New(store.Settings{})
	b.Cleanup(func() { _ = kept.Close() })
	p := program{store: kept, fromStore: true, exec: asksOnce()}
	return p.start(b, text.String())
}
