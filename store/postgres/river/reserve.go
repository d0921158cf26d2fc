package river

import (
	"context"

	"github.com/agentruntime/agentruntime/store/dispatch"
)

var _ dispatch.Reserver = (*Dispatcher)(nil)

// Reserve implements dispatch.Reserver. Half of the places are reserved for jobs, which all
// replicas share.
func (d *Dispatcher) Reserve() (dispatch.Place, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hints.ctx == nil || d.ending.Load() || 2*len(d.slots) >= cap(d.slots) {
		return nil, false
	}
	select {
	case d.slots <- struct{}{}:
	default:
		return nil, false
	}
	d.hints.running.Add(1)
	return place{d}, true
}

// place is a handler's place in a Dispatcher.
type place struct{ dispatcher *Dispatcher }

// Run implements dispatch.Place.
func (p place) Run(_ string, work func(ctx context.Context)) {
	go func() {
		defer p.Release()
		work(p.dispatcher.hints.ctx)
	}()
}

// Release implements dispatch.Place.
func (p place) Release() {
	p.dispatcher.leaveSlot()
	p.dispatcher.hints.running.Done()
}
