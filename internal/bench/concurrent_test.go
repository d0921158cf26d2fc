package bench

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
)

// slow wraps a model and delays the start of each answer.
type slow struct {
	model.Executor

	delay time.Duration
}

// Stream waits and forwards the request.
func (s slow) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		select {
		case <-time.After(s.delay):
			s.Executor.Stream(ctx, req)(yield)
		case <-ctx.Done():
			yield(model.Event{}, model.AsError(ctx.Err()))
		}
	}
}

// BenchmarkConcurrentTurns measures concurrent turns, each with two model calls of 20 ms, beside as
// many hand-written loops. The metrics ms/turns and ms/loops are the times from the first start to
// the last end, medians of the rounds: they can never be less than 40.
func BenchmarkConcurrentTurns(b *testing.B) {
	b.Run("100", func(b *testing.B) { benchmarkConcurrentTurns(b, 100) })
	b.Run("1000", func(b *testing.B) { benchmarkConcurrentTurns(b, 1000) })
}

func benchmarkConcurrentTurns(b *testing.B, n int) {
	exec := slow{script(b, 1), 20 * time.Millisecond}
	rt := newRuntime(b, exec, size{tools: 10})
	req := runtime.Prompt("assistant", question)
	ctx := b.Context()
	turn := func() {
		if res, err := rt.Run(ctx, req, nil); err != nil || res.Steps != 2 {
			b.Error(res, err)
		}
	}
	loop := func() {
		if text, err := floor(ctx, exec, nil, nil); err != nil || text == "" {
			b.Error(text, err)
		}
	}
	measure := func(run func()) (wall, used time.Duration) {
		before, begun := cpu(b), time.Now()
		var all sync.WaitGroup
		for range n {
			all.Go(run)
		}
		all.Wait()
		return time.Since(begun), cpu(b) - before
	}
	turns, loops := make([]cost, compareRounds), make([]cost, compareRounds)
	b.ReportAllocs()
	for b.Loop() {
		measure(turn)
	}
	b.StopTimer()
	for i := range compareRounds {
		wall, used := measure(turn)
		turns[i] = cost{wall: wall.Seconds() * 1000, cpu: float64(used.Microseconds()) / float64(n)}
		wall, used = measure(loop)
		loops[i] = cost{wall: wall.Seconds() * 1000, cpu: float64(used.Microseconds()) / float64(n)}
	}
	reportRatio(b, turns, loops)
	b.ReportMetric(medianOf(turns, wallTime), "ms/turns")
	b.ReportMetric(medianOf(loops, wallTime), "ms/loops")
	b.ReportMetric(medianOf(turns, cpuTime), "cpu-µs/turn")
	b.ReportMetric(medianOf(loops, cpuTime), "cpu-µs/loop")
}
