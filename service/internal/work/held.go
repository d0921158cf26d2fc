package work

import (
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// heldTurn is a turn that this process has claimed, and on which its work is not over. The
// pool guards what changes.
type heldTurn struct {
	// turn is as it was claimed.
	turn *store.Turn
	// worker is nil until the work begins.
	worker *worker
	// mayDiffer is set once the turn may not run any more: before its end is committed or
	// shown, and when something was heard of it.
	mayDiffer bool
	// since is when it was claimed, and bytes how large its conversation was then.
	since time.Time
	bytes int
	// failed is set once it was failed because of its memory.
	failed bool
}

// holdTurn notes that a turn was claimed, until it is released.
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
	if p.held[h.turn.ID] == h { // it may have been claimed anew
		delete(p.held, h.turn.ID)
	}
	p.noteQuiet()
}

// setWorker notes that a worker works on a turn.
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

// RunningTurn returns a turn as this process claimed it, if it runs here, or nil. This
// process neither commits nor shows the end of the turn before RunningTurn has returned.
// Another one may just have ended it: those who follow the turn hear of that later.
func (p *Pool) RunningTurn(id string) *store.Turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[id]; h != nil && !h.mayDiffer {
		return h.turn
	}
	return nil
}

// noteChange notes that a turn may not run any more, and returns who works on it here, or nil.
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

// Heard handles news about a turn, from this or another process. It reports whether
// this process works on the turn.
func (p *Pool) Heard(turnID string) bool {
	w := p.noteChange(turnID)
	if w != nil {
		w.stopIfTaken()
	}
	return w != nil
}

// Stop ends the work on a turn that was ended from outside, if it is done here.
func (p *Pool) Stop(turnID string) {
	if w := p.noteChange(turnID); w != nil {
		w.stop(errEnded)
	}
}
