package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

// BenchmarkEntries reads the agents of a document of 10,000.
func BenchmarkEntries(b *testing.B) {
	var text strings.Builder
	text.WriteString("version: 1\nproviders: {p: {type: fake}}\nmodels: {m: {provider_id: p, upstream_model: up}}\nagents:\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "  a%d: {model_id: m, system_prompt: \"You are agent %d.\"}\n", i, i)
	}
	kept := memory.New(store.Settings{})
	b.Cleanup(func() { _ = kept.Close() })
	p := program{store: kept, fromStore: true, exec: asksOnce()}
	one := p.start(b, text.String())
	b.ReportAllocs()
	for b.Loop() {
		list, _, err := one.fleet.Entries(b.Context(), "agents")
		if err != nil || len(list) != 10_000 {
			b.Fatal(err, len(list))
		}
		page := append([]config.DocumentEntry{}, list[5000:5050]...)
		_ = page
	}
}
