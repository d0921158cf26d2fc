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
	// hookLimit is how long the plugins may take for one phase. They are noticed up to a
	// tick later.
	hookLimit = time.Minute
	// hookTicks is how many ticks of the watch that is.
	hookTicks = 32
)

// watch ends a turn whose plugins take too long. They run on the turn's goroutine, so ending the
// turn is all that can be done about one that ignores its context. A timer checks at each tick
// whether the same phase still runs, which is cheaper for a phase than reading the clock.
type watch struct {
	end context.CancelCauseFunc
	// begun is how many phases have begun. Only the turn's goroutine uses it.
	begun uint64
	// running is the phase that runs, see phaseMark; 0 for none.
	running atomic.Uint64

	mu sync.Mutex
	// timer runs from the first phase to the end of the turn.
	timer   *time.Timer
	stopped bool
	// seen is what ran at the latest tick, and ticks for how many it has run since one
	// saw it.
	seen  uint64
	ticks int
}

// phaseMark returns what tells a phase from all others of the turn.
func phaseMark(begun uint64, phase plugins.Phase) uint64 { return begun<<8 | uint64(phase) }

// beginPhase gives the plugins their time.
func (w *watch) beginPhase(phase plugins.Phase) {
	w.begun++
	w.running.Store(phaseMark(w.begun, phase))
	if w.begun == 1 {
		w.setTimer()
	}
}

// endPhase ends the time of the plugins.
func (w *watch) endPhase() { w.running.Store(0) }

// setTimer sets the timer for the first time.
func (w *watch) setTimer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(hookLimit/hookTicks, w.countTick)
}

// countTick is called when the timer fires. It ends the turn, or sets the timer anew.
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
