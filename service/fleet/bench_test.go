package fleet_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/service/fleet"
)

// BenchmarkEntries reads the agents of a document of 10,000.
func BenchmarkEntries(b *testing.B) {
	one := startAgents(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		list, _, err := one.fleet.Entries(b.Context(), "agents")
		if err != nil || len(list) != 10_000 {
			b.Fatal(err, len(list))
		}
		page := append([]fleet.Entry{}, list[5000:5050]...)
		_ = page
	}
}
