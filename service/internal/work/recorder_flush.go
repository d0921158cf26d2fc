package work

import (
	"context"
	"time"
)

const (
	// deltaDelay is the time between two commits of text deltas, which are collected in between.
	// The first deltas after a pause do not wait.
	deltaDelay = 30 * time.Millisecond
	// stateDelay is how long other events are gathered.
	stateDelay = 5 * time.Millisecond
)

// flushing is the state of the queued events. However long a commit takes, no goroutine
// queues up to commit later events: the committing goroutine does so at the end.
//
//	        event            timer              commit ends
//	idle ──────────▶ armed ──────────▶ overdue ─────────────▶ armed, without delay
//
// A commit takes all queued events, so starting one returns to idle from every state. If
// nobody is committing when the timer fires, it commits at once.
type flushing uint8

const (
	// idle: nothing is queued, or another requested commit will include it.
	idle flushing = iota
	// armed: the timer runs.
	armed
	// overdue: the timer fired; the queued events are committed next.
	overdue
)

// flusher is the timer that commits queued events. The recorder's mutex guards it.
type flusher struct {
	state flushing
	// timer calls fire at due.
	timer *time.Timer
	due   time.Time
	fire  func()
	// flushed is the time of the last commit.
	flushed time.Time
}

// untilDeltas returns how long to collect deltas from now on.
func (f *flusher) untilDeltas() time.Duration {
	return max(stateDelay, deltaDelay-time.Since(f.flushed))
}

// armTimer starts the timer for a commit within a delay, unless a commit is overdue.
func (f *flusher) armTimer(delay time.Duration) {
	if f.state == overdue {
		return
	}
	due := time.Now().Add(delay)
	if f.state == armed && !f.due.After(due) {
		return
	}
	f.state, f.due = armed, due
	if f.timer == nil {
		f.timer = time.AfterFunc(delay, f.fire)
	} else {
		f.timer.Reset(delay)
	}
}

// noteExpiry records that the timer fired; false if the queue has just been committed.
func (f *flusher) noteExpiry() bool {
	if f.state != armed {
		return false
	}
	f.state = overdue
	return true
}

// takeOverdue reports whether a commit is overdue, and clears that: the caller must see to the
// commit.
func (f *flusher) takeOverdue() bool {
	if f.state != overdue {
		return false
	}
	f.state = idle
	return true
}

// disarmTimer records that there is nothing to flush.
func (f *flusher) disarmTimer() {
	f.state = idle
	if f.timer != nil {
		f.timer.Stop()
	}
}

// commitGate lets one goroutine commit at a time.
type commitGate chan struct{}

// enter waits for the right to commit, which leave releases.
func (g commitGate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryEnter is enter without blocking.
func (g commitGate) tryEnter() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g commitGate) leave() { <-g }
