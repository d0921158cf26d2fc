package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// worker runs one turn claimed by this process.
type worker struct {
	pool    *Pool
	turn    *store.Turn
	claimed *store.Claimed
	log     *recorder
	// current is the revision in which the turn begins, unless it has already begun.
	current *registry.Revision
	// currentErr is why the turn cannot begin in current.
	currentErr error
	// order is the turn's request, once decoded.
	order *Order
	// stop ends the turn's context.
	stop context.CancelCauseFunc
	// losing is set by the heartbeat that found the turn lost: later ones leave it
	// to that one to stop the work, however slow the store is.
	losing atomic.Bool
	// checking limits stopIfTaken to one query at a time and two a second. checked is the time
	// when the turn's state was last known, initially its claim, so that a short turn does not
	// query because of its own events.
	checking sync.Mutex
	checked  time.Time
}

// checkInterval is how often a worker reads the state of its turn after changes to it.
const checkInterval = time.Second / 2

var (
	// errEnded ends the work on a turn that was ended from outside.
	errEnded = errors.New("the turn was ended")
	// errLost ends the work on a turn that now belongs to another worker.
	errLost = fmt.Errorf("the turn does not belong to this worker any more: %w", backend.ErrReleased)
	// errHandBack ends the work on a turn that another worker continues.
	errHandBack = fmt.Errorf("the worker is stopped: %w", backend.ErrReleased)
)

// logFailure logs that the turn failed before or without an answer.
func (w *worker) logFailure(code string, reason zap.Field) {
	w.pool.settings.Logger.Warn("turn failed", zap.String("turn_id", w.turn.ID), zap.String("session_id", w.turn.SessionID), zap.String("agent", w.turn.AgentID),
		zap.String("code", code), reason)
}

// stopLost stops the work on a turn that was ended or taken over. Remote work of the turn is
// canceled only if it was ended.
func (w *worker) stopLost() {
	ctx, cancel := context.WithTimeout(w.pool.ctx, checkInterval)
	defer cancel()
	t, err := w.pool.settings.Store.Turn(ctx, store.Everything, w.turn.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !t.Status.Live() {
		w.stop(errEnded)
		return
	}
	w.stop(errLost)
}

// stopIfTaken stops the work if the turn was ended, or taken over.
func (w *worker) stopIfTaken() {
	if !w.checking.TryLock() {
		return
	}
	if time.Since(w.checked) < checkInterval { // the heartbeat will tell
		w.checking.Unlock()
		return
	}
	w.checked = time.Now()
	w.pool.tasks.Go(func() {
		defer w.checking.Unlock()
		t, err := w.pool.settings.Store.Turn(w.pool.ctx, store.Everything, w.turn.ID)
		switch {
		case err != nil:
		case !t.Status.Live():
			w.stop(errEnded)
		case t.Fence != w.turn.Fence || t.Status != store.Running:
			w.stop(errLost)
		}
	})
}
