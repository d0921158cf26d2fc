package river_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/river"
)

func TestHalfOfThePlacesAreKeptForJobs(t *testing.T) {
	t.Parallel()
	d := newDispatcher(t, newPool(t), river.Settings{Concurrency: 2})
	if _, ok := d.Reserve(); ok {
		t.Error("a place is free before the start")
	}
	begun, release := begin(t, d)
	place, ok := d.Reserve()
	if !ok {
		t.Fatal("no place is free")
	}
	if _, ok := d.Reserve(); ok {
		t.Error("the place that is kept for jobs is free")
	}
	ran, end := make(chan struct{}), make(chan struct{})
	place.Run("reserved", func(context.Context) {
		close(ran)
		<-end
	})
	<-ran
	if err := d.Enqueue(t.Context(), nil, []store.Job{{TurnID: "queued"}}); err != nil {
		t.Fatal(err)
	}
	if got := next(t, begun); got != "queued" {
		t.Errorf("%s began, want queued", got)
	}
	release <- struct{}{}
	close(end)
}

func TestReservedPlacesAreWaitedForAndEndWithTheDispatcher(t *testing.T) {
	t.Parallel()
	d := newDispatcher(t, newPool(t), river.Settings{})
	begin(t, d)
	first, _ := d.Reserve()
	second, _ := d.Reserve()
	first.Run("turn", func(ctx context.Context) { <-ctx.Done() })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Drain(ended); err == nil {
		t.Error("Drain did not wait for the places")
	}
	if _, ok := d.Reserve(); ok {
		t.Error("a place is free while the dispatcher drains")
	}
	second.Release()
	d.Stop()
}

// A replica whose places are taken by turns without jobs lets go of the jobs that it fetched.
func TestAJobWithoutAPlaceGoesBackToTheQueue(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	full := newDispatcher(t, pool, river.Settings{Concurrency: 1})
	begun, _ := begin(t, full)
	place, ok := full.Reserve()
	if !ok {
		t.Fatal("no place is free")
	}
	if err := full.Enqueue(t.Context(), nil, []store.Job{{TurnID: "queued"}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // the job is most likely fetched
	other := newDispatcher(t, pool, river.Settings{Concurrency: 1})
	elsewhere, release := begin(t, other)
	if got := next(t, elsewhere); got != "queued" {
		t.Errorf("%s began, want queued", got)
	}
	if len(begun) > 0 {
		t.Errorf("%s began without a place", <-begun)
	}
	release <- struct{}{}
	place.Release()
}
