package local_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/dispatchtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"pgregory.net/rapid"
)

func TestDispatcherDoesWhatDispatchersDo(t *testing.T) {
	dispatchtest.Run(t, func(_ *testing.T, concurrency int) dispatch.Dispatcher {
		return local.New(local.Settings{Concurrency: concurrency})
	})
}

func enqueue(t *testing.T, d *local.Dispatcher, jobs ...store.Job) {
	t.Helper()
	if err := d.Enqueue(t.Context(), nil, jobs); err != nil {
		t.Fatal(err)
	}
}

// handled is a handler that writes down what it handles.
type handled struct {
	mu  sync.Mutex
	ids []string
	at  []time.Time
}

func (h *handled) handle(_ context.Context, turnID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids = append(h.ids, turnID)
	h.at = append(h.at, time.Now())
}

func TestJobsAreHandledInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := local.New(local.Settings{Concurrency: 1})
		defer d.Stop()
		var want []string
		for i := range 1000 {
			want = append(want, strconv.Itoa(i))
			enqueue(t, d, store.Job{TurnID: want[i]})
		}
		var h handled
		if err := d.Start(t.Context(), h.handle); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !slices.Equal(h.ids, want) {
			t.Errorf("handled %v", h.ids)
		}
	})
}

func TestAQueuedTurnIsHandledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := local.New(local.Settings{})
		defer d.Stop()
		soon := time.Now().Add(time.Second)
		enqueue(t, d, store.Job{TurnID: "a"}, store.Job{TurnID: "a"}, store.Job{TurnID: "b", NotBefore: soon}, store.Job{TurnID: "b", NotBefore: soon})
		enqueue(t, d, store.Job{TurnID: "a"})
		var h handled
		if err := d.Start(t.Context(), h.handle); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.Stop()
		if want := []string{"a", "b"}; !slices.Equal(h.ids, want) {
			t.Errorf("handled %v, want %v", h.ids, want)
		}
	})
}

func TestATurnIsNotHandledTwiceAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := local.New(local.Settings{})
		defer d.Stop()
		var at []time.Time
		err := d.Start(t.Context(), func(context.Context, string) {
			at = append(at, time.Now())
			time.Sleep(time.Second)
		})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		enqueue(t, d, store.Job{TurnID: "a"})
		synctest.Wait()
		enqueue(t, d, store.Job{TurnID: "a"}, store.Job{TurnID: "a"})
		time.Sleep(time.Minute)
		d.Stop()
		if want := []time.Time{begin, begin.Add(time.Second)}; !slices.EqualFunc(at, want, time.Time.Equal) {
			t.Errorf("handled at %v, want %v", at, want)
		}
	})
}

func TestDelayedJobsAreHandledAtTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := local.New(local.Settings{})
		defer d.Stop()
		var h handled
		if err := d.Start(t.Context(), h.handle); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		after := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
		enqueue(t, d, store.Job{TurnID: "a", NotBefore: after(3)}, store.Job{TurnID: "b", NotBefore: after(1)})
		enqueue(t, d, store.Job{TurnID: "c", NotBefore: after(2)}, store.Job{TurnID: "a", NotBefore: after(4)})
		time.Sleep(time.Hour)
		d.Stop()
		if want := []string{"b", "c", "a", "a"}; !slices.Equal(h.ids, want) {
			t.Errorf("handled %v, want %v", h.ids, want)
		}
		if want := []time.Time{after(1), after(2), after(3), after(4)}; !slices.EqualFunc(h.at, want, time.Time.Equal) {
			t.Errorf("handled at %v, want %v", h.at, want)
		}
	})
}

func TestStartIsRefusedWhereItMakesNoSense(t *testing.T) {
	d := local.New(local.Settings{})
	nothing := func(context.Context, string) {}
	if err := d.Start(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	if d.Start(t.Context(), nothing) == nil {
		t.Error("it was started twice")
	}
	d.Stop()
	d = local.New(local.Settings{})
	d.Stop()
	if d.Start(t.Context(), nothing) == nil {
		t.Error("it was started after Stop")
	}
}

// Whatever is queued, and whenever: after the last time that a turn was queued for,
// its handler begins once more, and never two at a time.
func TestNoJobIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type step struct {
			Turn, Delay, Pause, Work int
		}
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
			return step{
				Turn:  rapid.IntRange(0, 4).Draw(r, "turn"),
				Delay: rapid.SampledFrom([]int{0, 0, 1, 2, 7}).Draw(r, "delay"),
				Pause: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(r, "pause"),
				Work:  rapid.IntRange(0, 5).Draw(r, "work"),
			}
		}), 1, 60).Draw(r, "steps")
		concurrency := rapid.IntRange(1, 4).Draw(r, "concurrency")
		synctest.Test(t, func(t *testing.T) {
			d := local.New(local.Settings{Concurrency: concurrency})
			defer d.Stop()
			var mu sync.Mutex
			running, begun, work := map[string]bool{}, map[string]time.Time{}, 0
			err := d.Start(t.Context(), func(_ context.Context, id string) {
				mu.Lock()
				if running[id] {
					r.Errorf("%s is handled twice at the same time", id)
				}
				if running[id] = true; len(running) > concurrency {
					r.Errorf("%d handlers, want %d at most", len(running), concurrency)
				}
				begun[id] = time.Now()
				pause := time.Duration(work) * time.Millisecond
				mu.Unlock()
				time.Sleep(pause)
				mu.Lock()
				delete(running, id)
				mu.Unlock()
			})
			if err != nil {
				r.Fatal(err)
			}
			due := map[string]time.Time{}
			for _, s := range steps {
				id, at := strconv.Itoa(s.Turn), time.Now().Add(time.Duration(s.Delay)*time.Millisecond)
				if at.After(due[id]) {
					due[id] = at
				}
				mu.Lock()
				work = s.Work
				mu.Unlock()
				enqueue(t, d, store.Job{TurnID: id, NotBefore: at})
				time.Sleep(time.Duration(s.Pause) * time.Millisecond)
			}
			time.Sleep(time.Minute)
			d.Stop()
			for id, at := range due {
				if begun[id].Before(at) {
					r.Errorf("%s was queued for %v and handled last at %v", id, at, begun[id])
				}
			}
		})
	})
}

func BenchmarkEnqueueUntilHandled(b *testing.B) {
	b.ReportAllocs()
	d := local.New(local.Settings{})
	defer d.Stop()
	done := make(chan struct{})
	if err := d.Start(b.Context(), func(context.Context, string) { done <- struct{}{} }); err != nil {
		b.Fatal(err)
	}
	jobs := []store.Job{{TurnID: "turn"}}
	for b.Loop() {
		if err := d.Enqueue(b.Context(), nil, jobs); err != nil {
			b.Fatal(err)
		}
		<-done
	}
}

func BenchmarkEnqueueOfManyTurns(b *testing.B) {
	b.ReportAllocs()
	d := local.New(local.Settings{})
	defer d.Stop()
	var all sync.WaitGroup
	if err := d.Start(b.Context(), func(context.Context, string) { all.Done() }); err != nil {
		b.Fatal(err)
	}
	jobs := make([]store.Job, 1024)
	for i := range jobs {
		jobs[i].TurnID = strconv.Itoa(i)
	}
	for i := 0; b.Loop(); i = (i + 1) % len(jobs) {
		if i == 0 {
			all.Wait() // so that no job is merged with the one of the round before
		}
		all.Add(1)
		if err := d.Enqueue(b.Context(), nil, jobs[i:i+1]); err != nil {
			b.Fatal(err)
		}
	}
	all.Wait()
}
