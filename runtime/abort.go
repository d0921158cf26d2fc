package runtime

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// abortTime bounds what is done to end what runs elsewhere for a turn that was
// ended here.
const abortTime = 10 * time.Second

// elsewhere returns the states of what runs at peers for a turn that is about to
// be ended. A worker of this process ends that itself; one elsewhere would, too,
// but may be dead, and to end it twice does no harm.
func (s *Service) elsewhere(ctx context.Context, scope store.Scope, id string) []*backend.State {
	if s.Runtime == nil || s.worker(id) != nil {
		return nil
	}
	if t, err := s.Store.Turn(ctx, scope, id); err != nil || !t.Status.Live() {
		return nil
	}
	return s.leftAtPeers(ctx, id)
}

// leftAtPeers returns the states of what a turn, as it is kept, has at peers.
func (s *Service) leftAtPeers(ctx context.Context, id string) []*backend.State {
	if s.Runtime == nil {
		return nil
	}
	data, err := s.Store.State(ctx, id)
	if err != nil || len(data) == 0 {
		return nil
	}
	state := new(backend.State)
	if json.Unmarshal(data, state) != nil {
		return nil
	}
	rows, err := s.Store.Journal(ctx, id)
	if err != nil {
		return nil
	}
	found := atPeers(state)
	for i := range rows {
		var entry backend.JournalEntry
		if json.Unmarshal(rows[i].Entry, &entry) == nil && entry.Outcome == "" {
			found = append(found, delegateAtPeer(entry.Resume)...)
		}
	}
	return found
}

// abort ends what runs at peers for a turn that was ended, as far as the peers
// can be reached.
func (s *Service) abort(turnID string, states []*backend.State) {
	for _, state := range states {
		s.tasks.Go(func() {
			// It is not given up when the service is closed: nobody would do it later.
			ctx, cancel := context.WithTimeout(context.Background(), abortTime)
			defer cancel()
			if err := s.Runtime.Abandon(ctx, state); err != nil {
				s.Logger.Warn("what a peer does for a turn that was ended may go on", zap.String("turn_id", turnID), zap.String("agent", state.Agent), zap.Error(err))
			}
		})
	}
}
