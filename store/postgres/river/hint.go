package river

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/store/dispatch"
)

// hintLimit is the maximum number of running handlers at which a hint is taken. On a nearly idle
// replica a hint saves the time until River fetches the job; on a busy one, fetching many jobs
// together is cheaper.
const hintLimit = 8

// hints are the handlers started by hints. The mutex of the Dispatcher guards them.
type hints struct {
	// ctx is the handlers' context, and cancel cancels it; nil before Start.
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

// cancelHints cancels the contexts of the handlers started by hints.
func (d *Dispatcher) cancelHints() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hints.cancel != nil {
		d.hints.cancel()
	}
}

// hintsHandled returns a channel that is closed when the handlers started by hints have returned.
// It is called after the last hint is taken.
func (d *Dispatcher) hintsHandled() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		d.hints.running.Wait()
		close(done)
	}()
	return done
}
