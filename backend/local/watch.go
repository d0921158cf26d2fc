package local

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/plugins"
)

const (
	// hookLimit is how long the plugins may take for one phase. An overrun is noticed up to a tick
	// later.
	hookLimit = time.Minute
	// hookTicks is hookLimit in ticks of the watch.
	hookTicks = 32
)

// watch ends a turn whose plugins take too long. They run on the turn's goroutine, so a plugin that
// ignores its context can only be stopped by ending the turn. A timer checks at each tick whether
// the same phase still runs, which is cheaper for a phase than reading the clock.
type watch struct {
	end context.CancelCauseFunc
	// begun counts the started phases. Only the turn's goroutine uses it.
	begun uint64
	// running is the running phase, see phaseMark; 0 if none.
	running atomic.Uint64

	mu sync.Mutex
	// timer runs from the first phase to the end of the turn.
	timer   *time.Timer
	stopped bool
	// seen is the phase running at the latest tick, and ticks how many ticks it has run since first
	// seen.
	seen  uint64
	ticks int
}

// phaseMark returns a phase's unique mark within the turn.
func phaseMark(begun uint64, phase plugins.Phase) uint64 { return begun<<8 | uint64(phase) }

// beginPhase starts the plugins' time limit.
func (w *watch) beginPhase(phase plugins.Phase) {
	w.begun++
	w.running.Store(phaseMark(w.begun, phase))
	if w.begun == 1 {
		w.setTimer()
	}
}

// endPhase ends the plugins' time limit.
func (w *watch) endPhase() { w.running.Store(0) }

// setTimer sets the timer for the first time.
func (w *watch) setTimer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(hookLimit/hookTicks, w.countTick)
}

// countTick is called when the timer fires. It ends the turn or sets the timer again.
func (w *watch) countTick() {
	if running, late := w.isLate(); late {
		w.end(&backend.HookTimeoutError{Phase: plugins.Phase(running & 0xff), Limit: hookLimit})
	}
}

// isLate reports whether the running phase has taken too long. If not, the timer continues.
func (w *watch) isLate() (running uint64, late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return 0, false
	}
	running = w.running.Load()
	if running == 0 || running != w.seen {
		w.seen, w.ticks = running, 0
	} else if w.ticks++; w.ticks == hookTicks {
		return running, true
	}
	w.timer.Reset(hookLimit / hookTicks)
	return running, false
}

// stop ends the watch.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
