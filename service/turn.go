package service

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/store"
)

// Turn is a stored turn.
type Turn struct {
	store.Turn
	// Outcome is the outcome of the turn; nil while it is live.
	Outcome *event.Outcome
	// Expired is set if the turn is running, but its worker has missed so many heartbeats that it
	// is considered dead.
	Expired bool
}

// viewTurn returns a turn that is visible to the caller, in the callers' form.
func (c *core) viewTurn(ctx context.Context, caller Caller, id string) (*Turn, error) {
	t, err := c.readTurn(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return c.turnView(t), nil
}

// turnView returns a turn in the callers' form.
func (c *core) turnView(t *store.Turn) *Turn {
	v := &Turn{Turn: *t}
	if len(t.Result) > 0 {
		v.Outcome = new(event.Outcome)
		if err := json.Unmarshal(t.Result, v.Outcome); err != nil {
			v.Outcome.Termination = event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: "the result of the turn cannot be read"}
		}
	}
	v.Expired = t.Status == store.Running && !t.HeartbeatAt.IsZero() && c.now().Sub(t.HeartbeatAt) > c.settings.Expiry
	return v
}

// endTurn ends a turn from outside.
func (s *Turns) endTurn(ctx context.Context, caller Caller, id string, why event.Termination) (*Turn, error) {
	scope, err := s.turnScope(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	status, now := work.StatusOf(why), s.now()
	state, err := s.settings.Store.State(ctx, id)
	if err != nil {
		return nil, err
	}
	out, agents := work.ProgressOf(state)
	out.Termination = why
	result, err := json.Marshal(&out)
	if err != nil {
		return nil, err
	}
	last, err := event.NewRecord(event.Event{Time: now, TurnID: id, Data: out.RunFinish()})
	if err != nil {
		return nil, err
	}
	tasks := s.pool.LivePeerTasks(ctx, scope, id)
	t, err := s.settings.Store.EndTurn(ctx, &store.EndTurn{Scope: scope, TurnID: id, Status: status, Result: result, Event: last, Agents: agents, Now: now})
	if err != nil {
		return nil, nameNotFound(err, "turn", id)
	}
	s.pool.Stop(id)
	s.pool.Abandon(id, tasks)
	s.announceTurn(id)
	return s.turnView(t), nil
}
