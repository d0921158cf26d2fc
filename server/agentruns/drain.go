package agentruns

import (
	"context"
	"maps"
	"slices"
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

// list returns the open streams.
func (f *followedRuns) list() []*sender {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.senders))
}

// DrainClients waits until no run waits for a client that follows it here, or ctx ends: a client
// that works on a call may still return its result.
func (s *Surface) DrainClients(ctx context.Context) {
	ticker := time.NewTicker(drainLook)
	defer ticker.Stop()
	idle := make(map[*sender]bool)
	for {
		done := true
		for _, one := range s.followed.list() {
			idle[one] = idle[one] || !s.waitsForClient(ctx, one.caller, one.id)
			done = done && idle[one]
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
