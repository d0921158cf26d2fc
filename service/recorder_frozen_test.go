package service_test

import (
	"context"
	"iter"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
)

// freezing is a store whose commits wait while it is frozen, as those of a
// database do whose disk hangs. It counts how many wait.
type freezing struct {
	store.Store
	mu      sync.Mutex
	thawed  chan struct{} // closed when the store is thawed, nil when it is not frozen
	waiting atomic.Int64
}

func (f *freezing) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.thawed = make(chan struct{})
}

func (f *freezing) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.thawed)
	f.thawed = nil
}

func (f *freezing) Commit(ctx context.Context, c *store.Commit) error {
	f.mu.Lock()
	thawed := f.thawed
	f.mu.Unlock()
	if thawed != nil {
		f.waiting.Add(1)
		defer f.waiting.Add(-1)
		select {
		case <-thawed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return f.Store.Commit(ctx, c)
}

// speaking is a model that says a number of words at an interval, the numbers from
// 0 on, with padding that makes each of them a number of bytes long.
type speaking struct {
	words    int
	interval time.Duration
	padding  int
	// said counts the words of all answers.
	said *atomic.Int64
}

func (s speaking) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ticker := time.NewTicker(s.interval)
		defer ticker.Stop()
		for i := range s.words {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				yield(model.Event{}, model.AsError(ctx.Err()))
				return
			}
			if !yield(model.Event{Type: model.EventText, Delta: strconv.Itoa(i) + strings.Repeat("x", s.padding) + " "}, nil) {
				return
			}
			if s.said != nil {
				s.said.Add(1)
			}
		}
		yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{Input: 1, Output: 1}}, nil)
	}
}

// TestAFrozenStoreCostsOneFlushATurn freezes the store for ten seconds under turns
// that stream, and counts what waits for it.
func TestAFrozenStoreCostsOneFlushATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const turns, words, interval = 64, 600, 20 * time.Millisecond
		kept := &freezing{Store: newMemory(t)}
		s := serve(t, turntest.Build(t, turntest.WithAgents(speaking{words: words, interval: interval}, spec.Agent{ID: "speaker"})), on(kept),
			func(v *service.Settings) { v.Dispatcher = local.New(local.Settings{Concurrency: turns}) })
		ids := make([]string, turns)
		for i := range ids {
			ids[i] = create(t, s, says(session(t, s, "speaker"), "speak")).ID
		}
		time.Sleep(time.Second)
		synctest.Wait()
		goroutines, memory := goruntime.NumGoroutine(), heldBytes()
		kept.freeze()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := kept.waiting.Load(); n != turns {
			t.Errorf("%d commits wait for the store, want one for each of %d turns", n, turns)
		}
		// The goroutine that commits is the only one that a turn may have gained.
		if more := goruntime.NumGoroutine() - goroutines; more > turns {
			t.Errorf("%d turns have %d goroutines more while the store is frozen, at most %d are allowed", turns, more, turns)
		}
		if more := (heldBytes() - memory) / turns; more > 32<<10 {
			t.Errorf("a turn needs %d bytes more while the store is frozen", more)
		}
		kept.thaw()
		for _, id := range ids {
			if got := ended(t, s, id); got.Status != store.Succeeded {
				t.Errorf("the turn is %+v", got)
			}
			if got := spoken(t, log(t, s, id)); got != numbers(words) {
				t.Errorf("the log says %q", got)
			}
		}
	})
}

// TestATurnWaitsForAFrozenStoreWhenItsBufferIsFull holds the back-pressure: a model
// that says more than the recorder may keep is not read on.
func TestATurnWaitsForAFrozenStoreWhenItsBufferIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const words, padding, buffer = 200, 64 << 10, 4 << 20
		var said atomic.Int64
		kept := &freezing{Store: newMemory(t)}
		s := serve(t, turntest.Build(t, turntest.WithAgents(speaking{words: words, interval: 10 * time.Millisecond, padding: padding, said: &said}, spec.Agent{ID: "speaker"})), on(kept))
		kept.freeze()
		turn := create(t, s, says(session(t, s, "speaker"), "speak"))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if size := said.Load() * padding; size < buffer/2 || size > buffer+buffer/2 {
			t.Errorf("the model said %d bytes while the store was frozen; %d may wait", size, buffer)
		}
		if records, err := s.ReadEvents(t.Context(), alice, turn.ID, 0, 100); err != nil || len(records) > 0 {
			t.Errorf("%d events are seen that are not committed, %v", len(records), err)
		}
		kept.thaw()
		if got := spoken(t, log(t, s, turn.ID)); got != numbers(words) {
			t.Errorf("the log says %q", got)
		}
	})
}

// TestWhatCameWhileTheStoreWasFrozenIsSeenWhenItThaws has a model that falls silent
// while the store is frozen: nothing but the end of the commit can bring what it
// said to the readers.
func TestWhatCameWhileTheStoreWasFrozenIsSeenWhenItThaws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const words = 10
		kept := &freezing{Store: newMemory(t)}
		silent := &turntest.Answerer{Answer: func(ctx context.Context, _ string, _ int) turntest.Answer { <-ctx.Done(); return turntest.Answer{} }}
		s := serve(t, turntest.Build(t, turntest.WithAgents(chain{speaking{words: words, interval: time.Second}, silent}, spec.Agent{ID: "speaker"})), on(kept))
		turn := create(t, s, says(session(t, s, "speaker"), "speak"))
		time.Sleep(1500 * time.Millisecond)
		kept.freeze()
		time.Sleep(13 * time.Second)
		kept.thaw()
		time.Sleep(time.Millisecond)
		records, err := s.ReadEvents(t.Context(), alice, turn.ID, 0, 100)
		if got := spoken(t, records); err != nil || got != numbers(words) {
			t.Errorf("%q is seen, %v", got, err)
		}
		if _, err := s.CancelTurn(t.Context(), alice, turn.ID, "enough"); err != nil {
			t.Fatal(err)
		}
	})
}

// bereft is a store whose heartbeats find every turn lost, and which then does not
// answer when it is asked what became of them. It counts how often it is asked at
// the same time.
type bereft struct {
	store.Store
	asked, most atomic.Int64
}

func (*bereft) Heartbeat(_ context.Context, _ string, _ time.Duration, held []store.Held) (lost []string, err error) {
	for _, h := range held {
		lost = append(lost, h.TurnID)
	}
	return lost, nil
}

func (b *bereft) Turn(ctx context.Context, scope store.Scope, id string) (*store.Turn, error) {
	if scope != store.Everything {
		return b.Store.Turn(ctx, scope, id)
	}
	n := b.asked.Add(1)
	defer b.asked.Add(-1)
	b.most.Store(max(b.most.Load(), n))
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestALostTurnIsAskedForOnce holds for heartbeats what holds for flushes: one that
// comes again while its work waits does not begin it again.
func TestALostTurnIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &bereft{Store: newMemory(t)}
		s := serve(t, turntest.Build(t, turntest.WithAgents(speaking{words: 100, interval: time.Second}, spec.Agent{ID: "speaker"})), on(kept),
			func(v *service.Settings) { v.Lease = 60 * time.Millisecond })
		create(t, s, says(session(t, s, "speaker"), "speak"))
		time.Sleep(10 * time.Second)
		if n := kept.most.Load(); n != 1 {
			t.Errorf("the store is asked for a lost turn %d times at once", n)
		}
	})
}

// chain is a model that answers as one does and then as another.
type chain struct{ first, then model.Executor }

func (c chain) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for ev, err := range c.first.Stream(ctx, req) {
			if ev.Type != model.EventFinish && !yield(ev, err) {
				return
			}
		}
		for ev, err := range c.then.Stream(ctx, req) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// spoken returns the text of a log without its padding.
func spoken(t testing.TB, records []event.Record) string {
	t.Helper()
	var text strings.Builder
	for i := range records {
		ev, err := records[i].Event()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.Data.(*event.TextDelta); ok {
			text.WriteString(strings.ReplaceAll(d.Delta, "x", ""))
		}
	}
	return text.String()
}

func numbers(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(strconv.Itoa(i) + " ")
	}
	return text.String()
}

// heldBytes returns how much memory this process holds on its heap and stacks.
func heldBytes() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
