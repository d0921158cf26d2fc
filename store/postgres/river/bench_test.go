package river_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/jackc/pgx/v5"
)

// BenchmarkEnqueueUntilHandled measures from the commit of a job to the begin of
// its handler, with jobs that come at random times.
func BenchmarkEnqueueUntilHandled(b *testing.B) {
	for _, rate := range []int{20, 100, 400} {
		b.Run(strconv.Itoa(rate)+"_per_second", func(b *testing.B) {
			pool := newPool(b)
			d := newDispatcher(b, pool, river.Settings{})
			var mu sync.Mutex
			begun, committed := map[string]time.Time{}, map[string]time.Time{}
			var all sync.WaitGroup
			if err := d.Start(b.Context(), func(_ context.Context, id string) {
				mu.Lock()
				defer mu.Unlock()
				begun[id] = time.Now()
				all.Done()
			}); err != nil {
				b.Fatal(err)
			}
			warm(b, d, &all)
			clear(begun)
			n := 0
			for next := time.Now(); b.Loop(); n++ {
				id := strconv.Itoa(n)
				all.Add(1)
				go func() {
					enqueueTx(b, pool, d, id)
					mu.Lock()
					defer mu.Unlock()
					committed[id] = time.Now()
				}()
				next = next.Add(time.Duration(rand.ExpFloat64() * float64(time.Second) / float64(rate)))
				time.Sleep(time.Until(next))
			}
			all.Wait()
			mu.Lock()
			defer mu.Unlock()
			var waits []time.Duration
			for id, at := range committed {
				waits = append(waits, begun[id].Sub(at))
			}
			slices.Sort(waits)
			for _, p := range []int{50, 90, 99} {
				b.ReportMetric(float64(waits[(len(waits)-1)*p/100].Microseconds())/1000, "p"+strconv.Itoa(p)+"-ms")
			}
			b.ReportMetric(float64(waits[len(waits)-1].Microseconds())/1000, "max-ms")
		})
	}
}

// BenchmarkThroughput measures jobs that are inserted one by one by 16
// goroutines, fetched, handled and completed.
func BenchmarkThroughput(b *testing.B) {
	pool := newPool(b)
	d := newDispatcher(b, pool, river.Settings{})
	var all sync.WaitGroup
	if err := d.Start(b.Context(), func(context.Context, string) { all.Done() }); err != nil {
		b.Fatal(err)
	}
	warm(b, d, &all)
	b.ResetTimer()
	all.Add(b.N)
	jobs := make(chan string)
	var writers sync.WaitGroup
	for range 16 {
		writers.Go(func() {
			for id := range jobs {
				enqueueTx(b, pool, d, id)
			}
		})
	}
	for i := range b.N {
		jobs <- strconv.Itoa(i)
	}
	close(jobs)
	writers.Wait()
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkInsert measures what a job adds to a transaction.
func BenchmarkInsert(b *testing.B) {
	pool := newPool(b)
	d := newDispatcher(b, pool, river.Settings{})
	b.Run("nothing", func(b *testing.B) {
		for b.Loop() {
			if err := pgx.BeginFunc(b.Context(), pool, func(pgx.Tx) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("job", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			enqueueTx(b, pool, d, "turn")
		}
	})
}

// warm waits until jobs are handled.
func warm(b *testing.B, d *river.Dispatcher, all *sync.WaitGroup) {
	b.Helper()
	all.Add(1)
	if err := d.Enqueue(b.Context(), nil, []store.Job{{TurnID: "warm"}}); err != nil {
		b.Fatal(err)
	}
	all.Wait()
	time.Sleep(500 * time.Millisecond)
}
