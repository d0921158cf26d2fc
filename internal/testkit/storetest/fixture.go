package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// patience is how long a test waits for something that must happen. It is long, so that on a busy
// machine only what never happens fails.
const patience = 30 * time.Second

// test is one requirement for a store.
type test struct {
	name string
	run  func(f *fixture)
	// settings are passed to open.
	settings store.Settings
}

// fixture is a store with a queue, for one test.
type fixture struct {
	*testing.T
	store.Store
	queue *Queue
	// now is the time in the test. It is recent, because stores use their own clock for leases.
	now time.Time
}

func newFixture(t *testing.T, s store.Store) *fixture {
	f := &fixture{T: t, Store: s, queue: new(Queue), now: time.Now().UTC().Truncate(time.Microsecond)}
	s.Attach(f.queue)
	return f
}

// wantJobs checks that the queue has received exactly these turns since the last call, in any
// order.
func (f *fixture) wantJobs(want ...string) {
	f.Helper()
	got := f.queue.Take()
	ids := make([]string, len(got))
	for i, j := range got {
		ids[i] = j.TurnID
	}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		f.Fatalf("the queue was told of the turns %q, want %q", ids, want)
	}
}

// eventually polls a condition until it holds.
func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			f.Fatalf("%s: it did not happen", what)
		}
	}
}
