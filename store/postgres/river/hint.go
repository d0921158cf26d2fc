package river

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/store/dispatch"
)

// hintLimit is how many handlers may be under way for a hint to be taken. It spares a
// replica with little to do the time until River has fetched the job; with more to do,
// fetching many jobs at once is cheaper.
const hintLimit = 8

// hints are the handlers that hints began. They are guarded by the mutex of the
// Dispatcher.
type hints struct {
	// ctx is the handlers' context, and cancel ends it; nil before Start.
	ctx     context.Context //nolint:containedctx // it ends with Stop
	cancel  context.CancelFunc
	running sync.WaitGroup
}

var _ dispatch.Hinter = (*Dispatcher)(nil)

// Hint implements dispatch.Hinter. River still fetches the job, and finds the turn
// claimed.
func (d *Dispatcher) Hint(turnID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx := d.hints.ctx
	if ctx == nil || d.ending.Load() || len(d.slots) >= hintLimit {
		return
	}
	select {
	case d.slots <- struct{}{}:
	default:
		return
	}
	d.hints.running.Go(func() {
		defer d.leaveSlot()
		d.work(ctx, turnID)
	})
}

func (d *Dispatcher) leaveSlot() { <-d.slots }

// cancelHints ends the contexts of the handlers that hints began.
func (d *Dispatcher) cancelHints() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hints.cancel != nil {
		d.hints.cancel()
	}
}

// hintsHandled returns a channel that is closed when the handlers that hints began have
// returned. It is called when no further hint is taken.
func (d *Dispatcher) hintsHandled() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		d.hints.running.Wait()
		close(done)
	}()
	return done
}
