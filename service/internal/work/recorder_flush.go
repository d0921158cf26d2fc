package work

import (
	"context"
	"time"
)

const (
	// deltaDelay is the time between two commits of text deltas, which are
	// collected meanwhile. The first deltas after a pause do not wait.
	deltaDelay = 30 * time.Millisecond
	// stateDelay is how long other events are gathered.
	stateDelay = 5 * time.Millisecond
)

// flushing is what becomes of the events that wait. However long a commit takes,
// no goroutine queues up to commit later events: the one that commits
// does so at its end.
//
//	        event            timer              commit ends
//	idle ──────────▶ armed ──────────▶ overdue ─────────────▶ armed, without delay
//
// A commit takes all that waits, so that its beginning leads back to idle from each
// of them. Where nobody commits when the timer fires, that is at once.
type flushing uint8

const (
	// idle: nothing waits, or it comes with a commit that somebody else asks for.
	idle flushing = iota
	// armed: the timer runs.
	armed
	// overdue: the timer fired, and what waits is committed next.
	overdue
)

// flusher is the timer that has what waits committed. It belongs to a recorder,
// whose mutex guards it.
type flusher struct {
	state flushing
	// timer calls fire at due.
	timer *time.Timer
	due   time.Time
	fire  func()
	// flushed is when something was committed last.
	flushed time.Time
}

// untilDeltas returns how long deltas are gathered from now on.
func (f *flusher) untilDeltas() time.Duration {
	return max(stateDelay, deltaDelay-time.Since(f.flushed))
}

// armTimer starts the timer for a commit within a delay, unless that is overdue.
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

// noteExpiry notes that the timer fired; false when what waited was committed just
// now.
func (f *flusher) noteExpiry() bool {
	if f.state != armed {
		return false
	}
	f.state = overdue
	return true
}

// takeOverdue reports whether what waits was to be committed before now, and
// leaves it to the caller to see to that.
func (f *flusher) takeOverdue() bool {
	if f.state != overdue {
		return false
	}
	f.state = idle
	return true
}

// disarmTimer notes that nothing is to be flushed.
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

// tryEnter is enter for one that does not wait.
func (g commitGate) tryEnter() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g commitGate) leave() { <-g }
