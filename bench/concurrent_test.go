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

// slow wraps a model so that each answer takes some time to begin.
type slow struct {
	model.Executor

	delay time.Duration
}

// Stream waits and passes the request on.
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

// BenchmarkConcurrentTurns measures 1,000 turns that run at the same time, each
// with two model calls of 20 ms. The metric ms/1000-turns is the time from the
// start of the first to the end of the last, the least of all rounds: it can
// never be less than 40.
func BenchmarkConcurrentTurns(b *testing.B) {
	const turns = 1000
	rt := newRuntime(b, slow{script(b, 1), 20 * time.Millisecond}, size{tools: 10})
	req := runtime.Prompt("assistant", question)
	ctx := b.Context()
	best := time.Duration(1<<63 - 1)
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		var all sync.WaitGroup
		for range turns {
			all.Go(func() {
				if res, err := rt.Run(ctx, req, nil); err != nil || res.Steps != 2 {
					b.Error(res, err)
				}
			})
		}
		all.Wait()
		best = min(best, time.Since(begun))
	}
	b.ReportMetric(best.Seconds()*1000, "ms/1000-turns")
}
