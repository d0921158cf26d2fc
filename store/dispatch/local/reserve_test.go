package local_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
)

func TestReservedPlacesAndJobsShareTheConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := local.New(local.Settings{Concurrency: 1})
		defer d.Stop()
		if _, ok := d.Reserve(); ok {
			t.Error("a place is free before the start")
		}
		var h handled
		if err := d.Start(t.Context(), h.handle); err != nil {
			t.Fatal(err)
		}
		place, ok := d.Reserve()
		if !ok {
			t.Fatal("no place is free")
		}
		if _, ok := d.Reserve(); ok {
			t.Error("the only place is free twice")
		}
		enqueue(t, d, store.Job{TurnID: "queued"})
		synctest.Wait()
		if len(h.ids) > 0 {
			t.Errorf("handled %v on a place that is reserved", h.ids)
		}
		release := make(chan struct{})
		place.Run("reserved", func(context.Context) { <-release })
		enqueue(t, d, store.Job{TurnID: "reserved"}) // as by a turn that is handed back
		synctest.Wait()
		if len(h.ids) > 0 {
			t.Errorf("handled %v while a turn without a job has the place", h.ids)
		}
		close(release)
		synctest.Wait()
		if len(h.ids) != 2 || h.ids[0] != "queued" || h.ids[1] != "reserved" {
			t.Errorf("handled %v, want queued and reserved", h.ids)
		}
	})
}

func TestAPlaceThatIsReleasedTakesAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := local.New(local.Settings{Concurrency: 1})
		defer d.Stop()
		var h handled
		if err := d.Start(t.Context(), h.handle); err != nil {
			t.Fatal(err)
		}
		place, _ := d.Reserve()
		enqueue(t, d, store.Job{TurnID: "queued"})
		place.Release()
		synctest.Wait()
		if len(h.ids) != 1 {
			t.Errorf("handled %v, want queued", h.ids)
		}
		if place, ok := d.Reserve(); !ok {
			t.Error("the place is not free again")
		} else {
			place.Release()
		}
	})
}

func TestReservedPlacesAreWaitedForAndEndWithTheDispatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := local.New(local.Settings{})
		var h handled
		if err := d.Start(t.Context(), h.handle); err != nil {
			t.Fatal(err)
		}
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
	})
}
