// Package dispatchtest provides the tests that every dispatch.Dispatcher and dispatch.Notifier must
// pass. An implementation runs them against itself.
package dispatchtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
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

// Run runs all tests of dispatchers.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"EachJobIsHandled", eachJobIsHandled},
		{"JobsFromManyGoroutinesAreHandled", jobsFromManyGoroutinesAreHandled},
		{"JobsFromBeforeStartAreHandled", jobsFromBeforeStartAreHandled},
		{"ABurstIsHandledWhole", aBurstIsHandledWhole},
		{"NoMoreHandlersThanAllowed", noMoreHandlersThanAllowed},
		{"ABlockedHandlerHoldsUpNoOther", aBlockedHandlerHoldsUpNoOther},
		{"ATurnQueuedWhileHandledIsHandledAgain", aTurnQueuedWhileHandledIsHandledAgain},
		{"ATurnThatQueuesItselfIsHandledAgain", aTurnThatQueuesItselfIsHandledAgain},
		{"ADelayedJobWaitsForItsTime", aDelayedJobWaitsForItsTime},
		{"DelayedJobsAreAllHandled", delayedJobsAreAllHandled},
		{"TheContextOfStartEndsNoHandler", theContextOfStartEndsNoHandler},
		{"DrainWaitsAndTakesNothingNew", drainWaitsAndTakesNothingNew},
		{"DrainOfNothingReturns", drainOfNothingReturns},
		{"StopEndsTheContextsAndWaits", stopEndsTheContextsAndWaits},
		{"StopEndsADrain", stopEndsADrain},
		{"StopIsSafeAtAnyTime", stopIsSafeAtAnyTime},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

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

// log records which turns were handled, and when.
type log struct {
	mu      sync.Mutex
	at      map[string][]time.Time
	changed chan struct{} // closed and replaced by each note
}

func newLog() *log {
	return &log{at: make(map[string][]time.Time), changed: make(chan struct{})}
}

// handleTurn is a handler that only records.
func (l *log) handleTurn(_ context.Context, turnID string) { l.noteTurn(turnID) }

func (l *log) noteTurn(turnID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[turnID] = append(l.at[turnID], time.Now())
	close(l.changed)
	l.changed = make(chan struct{})
}

// handledAt returns the times when a turn was handled.
func (l *log) handledAt(turnID string) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.at[turnID])
}

// waitHandled waits until each turn was handled at least the given number of times.
func (l *log) waitHandled(t *testing.T, times int, turnIDs ...string) {
	t.Helper()
	late := time.After(patience)
	missing := turnIDs
	for {
		l.mu.Lock()
		missing = slices.DeleteFunc(slices.Clone(missing), func(id string) bool { return len(l.at[id]) >= times })
		changed := l.changed
		l.mu.Unlock()
		if len(missing) == 0 {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%d of %d turns were not handled %d times; the first is %s", len(missing), len(turnIDs), times, missing[0])
		}
	}
}
