package fleet_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

// tenantBaseOf returns a base with agents.
func tenantBaseOf(agents int) string {
	var text strings.Builder
	text.WriteString("version: 1\nproviders: {p: {type: fake}}\nmodels: {m: {provider_id: p, upstream_model: up}}\ntenants: {may: {}}\nagents:\n")
	for i := range agents {
		fmt.Fprintf(&text, "  a%d: {model_id: m, system_prompt: \"You are agent %d.\"}\n", i, i)
	}
	return text.String()
}

func threePatches(of string) string {
	return fmt.Sprintf(`{"version":1,"patches":{"agents":{"a1":{"system_prompt":"One of %[1]s."},"a2":{"system_prompt":"Two of %[1]s."},"a3":{"system_prompt":"Three of %[1]s."}}}}`, of)
}

func startTenants(b *testing.B, agents, cache int) *process {
	kept := memory.New(store.Settings{})
	b.Cleanup(func() { _ = kept.Close() })
	p := program{store: kept, fromStore: true, exec: asksOnce(), tenantCache: cache}
	return p.start(b, tenantBaseOf(agents))
}

// BenchmarkColdTenant acquires the revision of an uncached tenant and of a cached tenant: the
// difference is the extra cost of a cold tenant's first turn.
func BenchmarkColdTenant(b *testing.B) {
	for _, agents := range []int{50, 1_000} {
		for _, kind := range []struct {
			name  string
			cache int
		}{{"cold", 1}, {"warm", 10}} {
			b.Run(fmt.Sprintf("%d_agents/%s", agents, kind.name), func(b *testing.B) {
				one := startTenants(b, agents, kind.cache)
				one.mustPublishFor("x", threePatches("x"))
				one.mustPublishFor("y", threePatches("y"))
				names := []string{"x", "y"}
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					rev, err := one.fleet.AcquireTenant(b.Context(), names[i%2])
					if err != nil {
						b.Fatal(err)
					}
					rev.Release()
					i++
				}
			})
		}
	}
}

// BenchmarkPublishTenant publishes an overlay with three patched agents.
func BenchmarkPublishTenant(b *testing.B) {
	for _, agents := range []int{50, 1_000} {
		b.Run(fmt.Sprint(agents, "_agents"), func(b *testing.B) {
			one := startTenants(b, agents, 0)
			expected, i := "", 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				out, err := one.fleet.Tenant("x").Publish(b.Context(), &fleet.Change{Document: []byte(threePatches(fmt.Sprint(i))), Expected: expected})
				if err != nil {
					b.Fatal(err)
				}
				expected = out.Hash
			}
		})
	}
}

// BenchmarkBaseOverTenants publishes a base with 50 agents over 1,000 tenants with three
// patched agents each.
func BenchmarkBaseOverTenants(b *testing.B) {
	one := startTenants(b, 50, 0)
	for i := range 1_000 {
		one.mustPublishFor(fmt.Sprintf("t%d", i), threePatches(fmt.Sprint(i)))
	}
	i := 0
	b.ResetTimer()
	for b.Loop() {
		i++
		text := strings.Replace(tenantBaseOf(50), "You are agent 7.", fmt.Sprintf("You are agent 7, %d.", i), 1)
		out, err := one.fleet.Publish(b.Context(), &fleet.Change{Document: []byte(text), Expected: one.fleet.Running().Hash})
		if err != nil || out.Tenants.Checked != 1_000 {
			b.Fatal(err)
		}
	}
}

// BenchmarkIdleTenants reports the heap used by 10,000 tenants evicted from the cache, excluding
// the store.
func BenchmarkIdleTenants(b *testing.B) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		one := startTenants(b, 50, 16)
		const tenants = 10_000
		for i := range tenants {
			one.mustPublishFor(fmt.Sprintf("t%d", i), threePatches(fmt.Sprint(i)))
		}
		before := heap()
		for i := range tenants {
			rev, err := one.fleet.AcquireTenant(b.Context(), fmt.Sprintf("t%d", i))
			if err != nil {
				b.Fatal(err)
			}
			rev.Release()
		}
		after := heap()
		grown := max(int64(after)-int64(before), 0) //nolint:gosec // a heap is not that large
		b.ReportMetric(float64(grown)/tenants, "heap-B/tenant")
		runtime.KeepAlive(one)
	}
}
