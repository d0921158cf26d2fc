package dispatchtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
)

// patience is how long a test waits for something that must happen. It is long, so that on a busy
// machine only what never happens fails.
const patience = 30 * time.Second

// Open returns a new dispatcher with separate queues. The test starts and stops it; t.Cleanup
// removes its resources afterwards.
type Open func(t *testing.T, concurrency int) dispatch.Dispatcher

// openStarted opens a dispatcher and starts it with a handler.
func openStarted(t *testing.T, open Open, concurrency int, work dispatch.Handler) dispatch.Dispatcher {
	t.Helper()
	d := open(t, concurrency)
	t.Cleanup(d.Stop)
	startDispatcher(t, d, work)
	return d
}

func startDispatcher(t *testing.T, d dispatch.Dispatcher, work dispatch.Handler) {
	t.Helper()
	if err := d.Start(t.Context(), work); err != nil {
		t.Fatalf("start: %v", err)
	}
}

// enqueueNow enqueues turns that are due immediately.
func enqueueNow(t *testing.T, d dispatch.Dispatcher, turnIDs ...string) {
	t.Helper()
	jobs := make([]store.Job, len(turnIDs))
	for i, id := range turnIDs {
		jobs[i].TurnID = id
	}
	if err := d.Enqueue(t.Context(), nil, jobs); err != nil {
		t.Errorf("enqueue %d jobs: %v", len(jobs), err)
	}
}

// turnIDs returns n turn ids.
func turnIDs(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("turn-%05d", i)
	}
	return all
}

// receiveValue waits for a value.
func receiveValue[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: it did not happen", what)
		panic("not reached")
	}
}
