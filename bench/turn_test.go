package bench

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
)

// BenchmarkResolve measures a fresh execution environment.
func BenchmarkResolve(b *testing.B) {
	b.Run("tools=10/plugins=2", func(b *testing.B) { benchmarkResolve(b, size{tools: 10, plugins: 2}) })
	b.Run("tools=500/patterns=20/plugins=5", func(b *testing.B) {
		benchmarkResolve(b, size{tools: 500, patterns: 20, plugins: 5})
	})
}

func benchmarkResolve(b *testing.B, n size) {
	rt := newRuntime(b, script(b, 1), n)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rt.Resolve(ctx, "assistant", resolve.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurn measures a whole turn: a fresh resolve, two model calls and one
// tool call, with 10 tools. The metric x-floor is its time over that of the
// floor, measured in the same run.
func BenchmarkTurn(b *testing.B) {
	b.Run("deltas=1", func(b *testing.B) { benchmarkTurn(b, script(b, 1), 0) })
	b.Run("deltas=50", func(b *testing.B) { benchmarkTurn(b, script(b, 50), 0) })
	b.Run("history=200", func(b *testing.B) { benchmarkTurn(b, script(b, 1), 200) })
	// What a loop costs beside a model is seen when the model does what every
	// client must: encode the request.
	b.Run("history=200/encoded", func(b *testing.B) { benchmarkTurn(b, encoding{script(b, 1)}, 200) })
}

func benchmarkTurn(b *testing.B, exec model.Executor, past int, options ...option) {
	rt := newRuntime(b, exec, size{tools: 10}, options...)
	req := runtime.Prompt("assistant", question)
	req.History = history(past)
	ctx := b.Context()
	events := 0
	sink := event.SinkFunc(func(event.Event) { events++ })
	b.ReportAllocs()
	for b.Loop() {
		res, err := rt.Run(ctx, req, sink)
		if err != nil || res.Steps != 2 {
			b.Fatal(res, err)
		}
	}
	b.StopTimer()
	turn := float64(b.Elapsed()) / float64(b.N)
	b.ReportMetric(turn/measureFloor(b, exec, req.History), "x-floor")
}

// measureFloor returns how long the floor takes, in nanoseconds: the best of
// several rounds, because the machine is noisy.
func measureFloor(b *testing.B, exec model.Executor, past []model.Message) float64 {
	b.Helper()
	const rounds, n = 5, 2000
	best := time.Duration(1<<63 - 1)
	for range rounds {
		begun := time.Now()
		for range n {
			if text, err := floor(b.Context(), exec, past, nil); err != nil || text == "" {
				b.Fatal(text, err)
			}
		}
		best = min(best, time.Since(begun))
	}
	return float64(best) / n
}

// BenchmarkFloor measures the floor by itself.
func BenchmarkFloor(b *testing.B) {
	run := func(exec model.Executor, past int) func(*testing.B) {
		return func(b *testing.B) {
			hist := history(past)
			b.ReportAllocs()
			for b.Loop() {
				if text, err := floor(b.Context(), exec, hist, nil); err != nil || text == "" {
					b.Fatal(text, err)
				}
			}
		}
	}
	b.Run("deltas=1", run(script(b, 1), 0))
	b.Run("deltas=50", run(script(b, 50), 0))
	b.Run("history=200", run(script(b, 1), 200))
	b.Run("history=200/encoded", run(encoding{script(b, 1)}, 200))
}
