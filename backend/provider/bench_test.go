//go:build unix

package provider_test

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// BenchmarkHostedTurn alternates between a turn at a hosted process and the same turn of a local
// agent, and reports the extra cost of the hosted turn.
func BenchmarkHostedTurn(b *testing.B) {
	said, err := scripted.Parse("script", []byte("fallback: {text: ok}\n"))
	if err != nil {
		b.Fatal(err)
	}
	r, _, log := newProcessRig(b, providertest.Steady, nil, func(to *builder.AgentRuntimeBuilder) {
		to.WithProvider("p", scripted.NewForTest(b, said)).WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "x"})
		to.WithAgentSpec(spec.Agent{ID: "local", ModelID: "m"})
	})
	r.StartProviders()
	log.await(1, "provider ready", "process")
	hosted, local := promptOf("s", "ok"), promptOf("s", "ok")
	local.AgentID = "local"
	run := func(req runtime.Request) time.Duration {
		began := time.Now()
		if result, err := r.Run(b.Context(), req, nil); err != nil || result.Response != "ok" {
			b.Fatalf("the turn came to %+v, %v", result, err)
		}
		return time.Since(began)
	}
	var there, here time.Duration
	for b.Loop() {
		there += run(hosted)
		here += run(local)
	}
	perTurn := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	b.ReportMetric(perTurn(there), "hosted-µs/turn")
	b.ReportMetric(perTurn(here), "local-µs/turn")
	b.ReportMetric(perTurn(there-here), "added-µs/turn")
}
