package bench

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

var caller = service.Caller{Tenant: "bench", Subject: "bench"}

// onEach runs a benchmark on each database.
func onEach(b *testing.B, run func(b *testing.B, settings service.Settings)) {
	b.Run("sqlite", func(b *testing.B) {
		s, err := sqlite.Open(b.Context(), store.Settings{DSN: filepath.Join(b.TempDir(), "bench.db")})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		run(b, service.Settings{Store: s, Dispatcher: local.New(local.Settings{Concurrency: 128})})
	})
	b.Run("postgres", func(b *testing.B) {
		ctx := b.Context()
		opened := store.Settings{DSN: pgtest.Start(b).Database(b)}
		if _, err := postgres.Migrate(ctx, opened); err != nil {
			b.Fatal(err)
		}
		s, err := postgres.Open(ctx, opened)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		if _, err := river.Migrate(ctx, s.Pool()); err != nil {
			b.Fatal(err)
		}
		var d dispatch.Dispatcher
		if d, err = river.New(s.Pool(), river.Settings{Concurrency: 128}); err != nil {
			b.Fatal(err)
		}
		run(b, service.Settings{Store: s, Dispatcher: d, Notifier: s.Notifier()})
	})
}

// startService serves the agent of a runtime.
func startService(b *testing.B, settings service.Settings, rt *runtime.AgentRuntime) *service.Service {
	b.Helper()
	settings.Runtime = rt
	s := service.New(settings)
	b.Cleanup(s.Close)
	if err := s.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return s
}

func newSession(b *testing.B, s *service.Service) string {
	b.Helper()
	made, err := s.CreateSession(b.Context(), caller, service.CreateSession{AgentID: "assistant"})
	if err != nil {
		b.Fatal(err)
	}
	return made.ID
}

func ask(ctx context.Context, s *service.Service, session string) (*service.Turn, error) {
	return s.CreateTurn(ctx, caller, service.CreateTurn{SessionID: session, Input: []model.Message{model.User(question)}})
}

// BenchmarkDurableTurn measures whole turns of two model calls and one tool call, each in its own
// session, 64 at a time.
func BenchmarkDurableTurn(b *testing.B) {
	onEach(b, func(b *testing.B, settings service.Settings) {
		s := startService(b, settings, newRuntime(b, script(b, 1), size{tools: 10}))
		b.ReportAllocs()
		b.SetParallelism(32)
		b.ResetTimer()
		used := cpu(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				session, err := s.CreateSession(b.Context(), caller, service.CreateSession{AgentID: "assistant"})
				if err != nil {
					b.Error(err)
					return
				}
				turn, err := ask(b.Context(), s, session.ID)
				if err == nil {
					turn, err = s.WaitTurn(b.Context(), caller, turn.ID)
				}
				if err != nil || turn.Status != store.Succeeded {
					b.Errorf("the turn is %+v, %v", turn, err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		b.ReportMetric(float64((cpu(b)-used).Microseconds())/float64(b.N), "cpu-µs/turn")
	})
}

// telling is a model that reports each call.
type telling struct {
	model.Executor
	asked chan time.Time
}

// Stream reports that it is called, and answers.
func (t telling) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	select {
	case t.asked <- time.Now():
	default:
	}
	return t.Executor.Stream(ctx, req)
}

// BenchmarkFirstStep measures the time from the request for a turn to its first model call,
// sequentially.
func BenchmarkFirstStep(b *testing.B) {
	onEach(b, func(b *testing.B, settings service.Settings) {
		exec := telling{script(b, 1), make(chan time.Time, 1)}
		s := startService(b, settings, newRuntime(b, exec, size{tools: 10}))
		var took []time.Duration
		for b.Loop() {
			b.StopTimer()
			session := newSession(b, s)
			select {
			case <-exec.asked:
			default:
			}
			b.StartTimer()
			begun := time.Now()
			turn, err := ask(b.Context(), s, session)
			if err != nil {
				b.Fatal(err)
			}
			took = append(took, (<-exec.asked).Sub(begun))
			b.StopTimer()
			if _, err := s.WaitTurn(b.Context(), caller, turn.ID); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		report(b, took)
	})
}

// report reports the median and the 99th percentile.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	at := func(p float64) float64 { return float64(took[int(p*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}

// dripping is a model that streams deltas at a rate.
type dripping struct {
	deltas   int
	interval time.Duration
}

// Stream streams the deltas and ends.
func (d dripping) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ticker := time.NewTicker(d.interval)
		defer ticker.Stop()
		for i := range d.deltas {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				yield(model.Event{}, ctx.Err())
				return
			}
			if !yield(model.Event{Type: model.EventText, Delta: fmt.Sprintf("%0500d ", i)}, nil) {
				return
			}
		}
		yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{Input: 1, Output: 1}}, nil)
	}
}

// BenchmarkAppendToReader measures the time that an event takes to reach each of 20 readers of each
// of 10 turns that emit 50 events a second; coalesced deltas count from the first delta.
func BenchmarkAppendToReader(b *testing.B) {
	const turns, readers = 10, 20
	onEach(b, func(b *testing.B, settings service.Settings) {
		s := startService(b, settings, newRuntime(b, dripping{100, 20 * time.Millisecond}, size{}))
		var mu sync.Mutex
		var took []time.Duration
		for b.Loop() {
			var following sync.WaitGroup
			for range turns {
				turn, err := ask(b.Context(), s, newSession(b, s))
				if err != nil {
					b.Fatal(err)
				}
				for range readers {
					following.Go(func() {
						var own []time.Duration
						for r, err := range s.Events(b.Context(), caller, turn.ID, 0) {
							if err != nil {
								b.Error(err)
								return
							}
							own = append(own, time.Since(r.Time))
						}
						mu.Lock()
						took = append(took, own...)
						mu.Unlock()
					})
				}
			}
			following.Wait()
		}
		report(b, took)
	})
}
