package local

import (
	"context"

	"github.com/agentruntime/agentruntime/store/dispatch"
)

var _ dispatch.Reserver = (*Dispatcher)(nil)

// Reserve implements dispatch.Reserver. Jobs that are due come first.
func (d *Dispatcher) Reserve() (dispatch.Place, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.work == nil || d.closed || d.running >= d.limit || d.due.len() > 0 {
		return nil, false
	}
	d.running++
	return place{d}, true
}

// place is a handler's place in a Dispatcher.
type place struct{ dispatcher *Dispatcher }

// Run implements dispatch.Place.
func (p place) Run(turnID string, work func(ctx context.Context)) {
	d := p.dispatcher
	d.mu.Lock()
	d.turns[turnID] |= handled
	d.mu.Unlock()
	go func() {
		work(d.ctx)
		if next, more := d.nextTurn(turnID); more {
			d.handleTurns(next)
		}
	}()
}

// Release implements dispatch.Place.
func (p place) Release() {
	d := p.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.due.len() > 0 {
		go d.handleTurns(d.popDue())
		return
	}
	d.leave()
}
