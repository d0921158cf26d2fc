package bench

import (
	"context"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

// freezing is a store whose commits block while it is frozen.
type freezing struct {
	store.Store
	frozen chan struct{}
	thawed chan struct{}
}

// Commit blocks while the store is frozen.
func (f *freezing) Commit(ctx context.Context, c *store.Commit) error {
	select {
	case <-f.frozen:
		select {
		case <-f.thawed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	default:
	}
	return f.Store.Commit(ctx, c)
}

// BenchmarkFrozenStore measures the cost of 1,000 streaming turns while the store accepts no
// commits for ten seconds: the number of goroutines, and the memory of these goroutines and of the
// data waiting for the store.
func BenchmarkFrozenStore(b *testing.B) {
	const turns, frozen = 1000, 10 * time.Second
	for b.Loop() {
		m := memory.New(store.Settings{})
		kept := &freezing{Store: m, frozen: make(chan struct{}), thawed: make(chan struct{})}
		s := startService(b, service.Settings{Store: kept, Dispatcher: local.New(local.Settings{Concurrency: turns})},
			newRuntime(b, dripping{1000, 50 * time.Millisecond}, size{}))
		for range turns {
			if _, err := ask(b.Context(), s, newSession(b, s)); err != nil {
				b.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		before, goroutines := heldNow(), goruntime.NumGoroutine()
		close(kept.frozen)
		time.Sleep(frozen)
		b.ReportMetric(float64(goruntime.NumGoroutine()-goroutines)/turns, "more-goroutines/turn")
		b.ReportMetric(float64(goruntime.NumGoroutine()), "goroutines")
		b.ReportMetric(float64(heldNow()-before)/turns/1024, "more-KiB/turn")
		close(kept.thawed)
		s.Close()
		_ = m.Close()
	}
}

// heldNow returns the size of heap and stacks in bytes.
func heldNow() uint64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
