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

// watch ends a turn whose plugins take too long. It has one timer, which runs
// while plugins do.
type watch struct {
	end   context.CancelCauseFunc
	timer *time.Timer
	phase atomic.Uint32
}

// beginPhase gives the plugins their time. They run on the turn's own goroutine, so
// all that can be done to one that ignores its context is to end the turn.
func (w *watch) beginPhase(phase plugins.Phase) {
	w.phase.Store(uint32(phase))
	if w.timer == nil {
		w.timer = time.AfterFunc(hookLimit, w.expire)
		return
	}
	w.timer.Reset(hookLimit)
}

func (w *watch) expire() {
	phase := plugins.Phase(w.phase.Load()) //nolint:gosec // begin stored one
	w.end(&backend.HookTimeoutError{Phase: phase, Limit: hookLimit})
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
