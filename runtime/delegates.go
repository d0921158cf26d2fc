package runtime

import (
	"maps"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
)

// delegates are a turn's delegates that wait at peers. Only their calls would resume them: if the
// turn ends first, their tasks must be ended.
type delegates struct {
	mu      sync.Mutex
	waiting map[string][]*backend.State // by call
}

// restoreFrom adds the delegates that a state's calls wait for.
func (d *delegates) restoreFrom(state *backend.State) {
	for i := range state.Calls {
		if c := &state.Calls[i]; c.Result == nil {
			d.setWaiting(c.ID, delegateAtPeer(c.Resume))
		}
	}
}

// setWaiting replaces the states of delegates that a call waits for at peers; no states remove
// the call.
func (d *delegates) setWaiting(callID string, states []*backend.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(states) == 0 {
		delete(d.waiting, callID)
		return
	}
	if d.waiting == nil {
		d.waiting = make(map[string][]*backend.State)
	}
	d.waiting[callID] = states
}

// takeAll removes and returns all waiting delegates.
func (d *delegates) takeAll() []*backend.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 { // the usual case
		return nil
	}
	var all []*backend.State
	for _, id := range slices.Sorted(maps.Keys(d.waiting)) {
		all = append(all, d.waiting[id]...)
	}
	d.waiting = nil
	return all
}
