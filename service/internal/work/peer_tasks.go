package work

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// abortTime is the timeout for canceling remote work when a turn is ended here.
const abortTime = 10 * time.Second

// LivePeerTasks returns the states of a turn's tasks at peers before the turn is ended. A worker in
// this process ends them itself while the turn is running. A worker elsewhere would too, but may be
// dead, and ending them twice is harmless.
func (p *Pool) LivePeerTasks(ctx context.Context, scope store.Scope, id string) []*backend.State {
	if p.settings.Runtime == nil {
		return nil
	}
	t, err := p.settings.Store.Turn(ctx, scope, id)
	if err != nil || !t.Status.Live() || t.Status == store.Running && p.workerOf(id) != nil {
		return nil
	}
	return p.peerTasks(ctx, id)
}

// peerTasks returns the states of a stored turn's tasks at peers.
func (p *Pool) peerTasks(ctx context.Context, id string) []*backend.State {
	if p.settings.Runtime == nil {
		return nil
	}
	data, err := p.settings.Store.State(ctx, id)
	if err != nil || len(data) == 0 {
		return nil
	}
	state := new(backend.State)
	if json.Unmarshal(data, state) != nil {
		return nil
	}
	rows, err := p.settings.Store.Journal(ctx, id)
	if err != nil {
		return nil
	}
	for i := range rows {
		var entry backend.JournalEntry
		if json.Unmarshal(rows[i].Entry, &entry) == nil {
			state.Journal = append(state.Journal, entry)
		}
	}
	return runtime.PeerTasks(state)
}

// Abandon ends a turn's tasks at peers, best effort, after the turn was ended. It does not block.
func (p *Pool) Abandon(turnID string, states []*backend.State) {
	for _, state := range states {
		p.tasks.Go(func() {
			// Closing the pool does not cancel this: nothing would do it later.
			ctx, cancel := context.WithTimeout(context.Background(), abortTime)
			defer cancel()
			if err := p.settings.Runtime.Abandon(ctx, state); err != nil {
				p.settings.Logger.Warn("abort of remote task failed", zap.String("turn_id", turnID), zap.String("agent", state.Agent), zap.Error(err))
			}
		})
	}
}
