package local

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/plugins"
)

// hookLimit is how long the plugins may take for one phase.
const hookLimit = time.Minute

// watch ends a turn whose plugins take too long. Its one timer runs from the first
// phase to the end of the turn and looks at the deadline when it fires: moving it for
// each phase would cost more.
type watch struct {
	end   context.CancelCauseFunc
	begun time.Time
	timer *time.Timer
	// deadline is when the plugins will have taken too long, counted from begun, or
	// one of the marks below.
	deadline atomic.Int64
	phase    atomic.Uint32
}

// What a deadline may be besides a time.
const (
	// idle means that no plugin runs.
	idle = 0
	// stopped means that the turn is over.
	stopped = -1
)

// beginPhase gives the plugins their time. They run on the turn's own goroutine, so
// all that can be done to one that ignores its context is to end the turn.
func (w *watch) beginPhase(phase plugins.Phase) {
	w.phase.Store(uint32(phase))
	if w.timer != nil {
		w.deadline.Store(int64(time.Since(w.begun) + hookLimit))
		return
	}
	w.begun = time.Now()
	w.deadline.Store(int64(hookLimit))
	// The timer is set only once w.timer can be seen by what it calls.
	w.timer = time.AfterFunc(1<<63-1, w.checkDeadline)
	w.timer.Reset(hookLimit)
}

// endPhase ends the time of the plugins.
func (w *watch) endPhase() { w.deadline.Store(idle) }

// checkDeadline is called when the timer fires. It ends the turn, or sets the timer
// anew.
func (w *watch) checkDeadline() {
	left := hookLimit
	switch at := w.deadline.Load(); at {
	case stopped:
		return
	case idle:
	default:
		left = time.Duration(at) - time.Since(w.begun)
	}
	if left > 0 {
		w.timer.Reset(left)
		return
	}
	phase := plugins.Phase(w.phase.Load()) //nolint:gosec // beginPhase stored one
	w.end(&backend.HookTimeoutError{Phase: phase, Limit: hookLimit})
}

// stop ends the watch.
func (w *watch) stop() {
	w.deadline.Store(stopped)
	if w.timer != nil {
		w.timer.Stop()
	}
}
