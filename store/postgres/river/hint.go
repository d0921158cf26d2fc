package river

import "github.com/agentruntime/agentruntime/store/dispatch"

// hintLimit is the maximum number of running handlers at which a hint is taken. On a nearly idle
// replica a hint saves the time until River fetches the job; on a busy one, fetching many jobs
// together is cheaper.
const hintLimit = 8

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
