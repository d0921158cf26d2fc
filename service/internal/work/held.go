package work

import (
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// holdTurn records that a turn was claimed, until it is released.
func (p *Pool) holdTurn(t *store.Turn) *heldTurn {
	h := &heldTurn{turn: t, since: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[t.ID] = h
	return h
}

// releaseTurn records the end of the work on a turn.
func (p *Pool) releaseTurn(h *heldTurn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[h.turn.ID] == h { // it may have been reclaimed
		delete(p.held, h.turn.ID)
	}
	p.noteQuiet()
}

// setWorker records the worker of a turn.
func (p *Pool) setWorker(h *heldTurn, w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.worker = w
}

// workerOf returns the local worker of a turn, or nil.
func (p *Pool) workerOf(turnID string) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[turnID]; h != nil {
		return h.worker
	}
	return nil
}

// RunningTurn returns a turn as this process claimed it, if it runs here, or nil. This process
// neither commits nor shows the end of the turn before RunningTurn has returned. Another process
// may just have ended it: the turn's followers learn of that later.
func (p *Pool) RunningTurn(id string) *store.Turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[id]; h != nil && !h.mayDiffer {
		return h.turn
	}
	return nil
}

// noteChange records that a turn may no longer be running and returns its local worker, or nil.
func (p *Pool) noteChange(turnID string) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[turnID]
	if h == nil {
		return nil
	}
	h.mayDiffer = true
	return h.worker
}

// Heard handles a notification about a turn, from this or another process. It reports whether this
// process runs the turn.
func (p *Pool) Heard(turnID string) bool {
	w := p.noteChange(turnID)
	if w != nil {
		w.stopIfTaken()
	}
	return w != nil
}

// Stop stops the local worker of a turn that was ended from outside, if it has one.
func (p *Pool) Stop(turnID string) {
	if w := p.noteChange(turnID); w != nil {
		w.stop(errEnded)
	}
}
