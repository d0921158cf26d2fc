package agentruns

import (
	"context"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

var _ server.Drainer = (*Surface)(nil)

// drainLook is how often to check whether a run still waits for its client.
const drainLook = time.Second / 4

// followedRuns are the runs that clients follow in this process.
type followedRuns struct {
	mu      sync.Mutex
	senders map[*sender]struct{}
}

// addFollower notes that a client follows a run, until remove is called.
func (f *followedRuns) addFollower(s *sender) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.senders == nil {
		f.senders = make(map[*sender]struct{})
	}
	f.senders[s] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.senders, s)
	}
}

// updateWaits removes the streams that have ended, and adds new ones as waiting runs.
func (f *followedRuns) updateWaits(waits map[*sender]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range waits {
		if _, open := f.senders[s]; !open {
			delete(waits, s)
		}
	}
	for s := range f.senders {
		if _, known := waits[s]; !known {
			waits[s] = true
		}
	}
}

// DrainClients waits until no run waits for a client that follows it here, or ctx ends: a client
// that works on a call may still return its result.
func (s *Surface) DrainClients(ctx context.Context) {
	ticker := time.NewTicker(drainLook)
	defer ticker.Stop()
	waits := make(map[*sender]bool)
	for {
		s.followed.updateWaits(waits)
		done := true
		for one, waiting := range waits {
			waits[one] = waiting && s.waitsForClient(ctx, one.caller, one.id)
			done = done && !waits[one]
		}
		if done {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// waitsForClient reports whether a run waits for the client to return a call's result. If the run
// cannot be read it returns false.
func (s *Surface) waitsForClient(ctx context.Context, caller service.Caller, id string) bool {
	turn, err := s.settings.Service.GetTurn(ctx, caller, id)
	if err != nil || !turn.Status.Live() {
		return false
	}
	open, err := s.settings.Service.ListInteractions(ctx, caller, service.InteractionQuery{TurnID: id, State: service.InteractionPending})
	if err != nil {
		return false
	}
	for _, i := range open {
		if forClient(i.Request.Action) {
			return true
		}
	}
	return false
}
