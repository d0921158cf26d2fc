package bench

import (
	"flag"
	stdruntime "runtime"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
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

// BenchmarkTurn measures a whole turn: a fresh resolve, two model calls and one tool call, with 10
// tools. The metrics compare the turn with the floor, measured in the same run; see
// compareWithLoop.
func BenchmarkTurn(b *testing.B) {
	b.Run("deltas=1", func(b *testing.B) { benchmarkTurn(b, script(b, 1), 0) })
	b.Run("deltas=50", func(b *testing.B) { benchmarkTurn(b, script(b, 50), 0) })
	b.Run("history=200", func(b *testing.B) { benchmarkTurn(b, script(b, 1), 200) })
	// The loop's cost relative to a model is realistic when the model encodes the request, as every
	// client must.
	b.Run("history=200/encoded", func(b *testing.B) { benchmarkTurn(b, encoding{script(b, 1)}, 200) })
	b.Run("parallel", benchmarkParallelTurns)
}

func benchmarkTurn(b *testing.B, exec model.Executor, past int, options ...option) {
	rt := newRuntime(b, exec, size{tools: 10}, options...)
	turn, loop := turnSubject(b, rt, history(past)), loopSubject(b, exec, history(past))
	b.ReportAllocs()
	for b.Loop() {
		turn.run(1)
	}
	b.StopTimer()
	if !comparing() {
		return
	}
	if past > 0 {
		turn.n, loop.n = turn.n/4, loop.n/4
	}
	compareWithLoop(b, turn, loop)
}

// benchmarkParallelTurns keeps every processor busy with turns.
func benchmarkParallelTurns(b *testing.B) {
	exec := script(b, 1)
	rt := newRuntime(b, exec, size{tools: 10})
	onAll := func(each func() subject) subject {
		return subject{n: each().n * stdruntime.GOMAXPROCS(0), run: func(n int) {
			var all sync.WaitGroup
			for range stdruntime.GOMAXPROCS(0) {
				all.Go(func() { each().run(n / stdruntime.GOMAXPROCS(0)) })
			}
			all.Wait()
		}}
	}
	turn := onAll(func() subject { return turnSubject(b, rt, nil) })
	loop := onAll(func() subject { return loopSubject(b, exec, nil) })
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		one := turnSubject(b, rt, nil)
		for pb.Next() {
			one.run(1)
		}
	})
	b.StopTimer()
	compareWithLoop(b, turn, loop)
}

// comparing reports whether benchmarks were requested: a test that counts allocations needs no
// comparison.
func comparing() bool { return flag.Lookup("test.bench").Value.String() != "" }

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
