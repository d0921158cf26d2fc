package river_test

import (
	"context"
	"testing"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/river"
)

// begin starts a dispatcher whose handlers report that they began, and go on when release
// does, or their context ends.
func begin(t *testing.T, d *river.Dispatcher) (begun <-chan string, release chan<- struct{}) {
	t.Helper()
	begins, goOn := make(chan string, 100), make(chan struct{})
	err := d.Start(t.Context(), func(ctx context.Context, turnID string) {
		begins <- turnID
		select {
		case <-goOn:
		case <-ctx.Done():
			begins <- turnID + " canceled"
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return begins, goOn
}

func TestHintsAndJobsShareTheConcurrency(t *testing.T) {
	t.Parallel()
	d := newDispatcher(t, newPool(t), river.Settings{Concurrency: 1})
	d.Hint("before the start")
	begun, release := begin(t, d)
	d.Hint("hinted")
	if got := next(t, begun); got != "hinted" {
		t.Fatalf("%s began, want hinted", got)
	}
	d.Hint("too much")
	if err := d.Enqueue(t.Context(), nil, []store.Job{{TurnID: "queued"}}); err != nil {
		t.Fatal(err)
	}
	if len(begun) > 0 {
		t.Errorf("%s began besides", <-begun)
	}
	release <- struct{}{}
	if got := next(t, begun); got != "queued" {
		t.Errorf("%s began, want queued", got)
	}
	release <- struct{}{}
}

func TestHintsAreWaitedForAndEndWithTheDispatcher(t *testing.T) {
	t.Parallel()
	d := newDispatcher(t, newPool(t), river.Settings{})
	begun, release := begin(t, d)
	d.Hint("first")
	d.Hint("second")
	next(t, begun)
	next(t, begun)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Drain(ended); err == nil {
		t.Error("Drain did not wait for what hints began")
	}
	d.Hint("while it drains")
	release <- struct{}{}
	d.Stop()
	if got := next(t, begun); got != "first canceled" && got != "second canceled" {
		t.Errorf("heard %s after the end", got)
	}
	d.Hint("after the end")
	if len(begun) > 0 {
		t.Errorf("heard %s after the end", <-begun)
	}
}
