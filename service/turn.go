package service

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/store"
)

// Turn is a turn as it is kept.
type Turn struct {
	store.Turn
	// Outcome is what the turn came to; nil while it is live.
	Outcome *event.Outcome
	// Expired is set if the turn runs, but its worker has missed so many heartbeats
	// that it is considered dead.
	Expired bool
}

// turnView returns a turn as callers see it.
func (s *Service) turnView(t *store.Turn) *Turn {
	v := &Turn{Turn: *t}
	if len(t.Result) > 0 {
		v.Outcome = new(event.Outcome)
		if err := json.Unmarshal(t.Result, v.Outcome); err != nil {
			v.Outcome.Termination = event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: "the result of the turn cannot be read"}
		}
	}
	v.Expired = t.Status == store.Running && !t.HeartbeatAt.IsZero() && s.now().Sub(t.HeartbeatAt) > s.settings.Expiry
	return v
}

// endTurn ends a turn from outside.
func (s *Service) endTurn(ctx context.Context, caller Caller, id string, why event.Termination) (*Turn, error) {
	scope, err := s.turnScope(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	status, now := work.StatusOf(why), s.now()
	result, err := json.Marshal(event.Outcome{Termination: why})
	if err != nil {
		return nil, err
	}
	last, err := event.NewRecord(event.Event{Time: now, TurnID: id, Data: &event.RunFinish{Status: why.Status(), Termination: why}})
	if err != nil {
		return nil, err
	}
	tasks := s.pool.LivePeerTasks(ctx, scope, id)
	t, err := s.settings.Store.EndTurn(ctx, &store.EndTurn{Scope: scope, TurnID: id, Status: status, Result: result, Event: last, Now: now})
	if err != nil {
		return nil, nameNotFound(err, "turn", id)
	}
	s.pool.Stop(id)
	s.pool.Abandon(id, tasks)
	s.announceTurn(id)
	return s.turnView(t), nil
}
