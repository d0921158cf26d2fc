package service

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/store"
)

// This package decides for all surfaces what a caller may see and change. A caller sees what its
// owner owns. A caller that is limited to some agents must also be allowed to use the agent
// concerned:
//
//   - A turn, its events, interactions, artifacts and webhooks belong to the agent
//     that the turn was made for. Agents that it delegates or hands over to are
//     part of what that agent does, so the caller need not be allowed those.
//   - A session and its snapshots belong to the agent that the session names and
//     to all agents that turns of it were made for: the conversation holds what
//     all their messages, and the next turn gets them.
//
// The rest looks as if it did not exist.

// readTurn returns a turn that is visible to the caller.
func (c *core) readTurn(ctx context.Context, caller Caller, id string) (*store.Turn, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	t, err := c.settings.Store.Turn(ctx, scope, id)
	if err == nil && !caller.seesTurnsOf(t.AgentID) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, nameNotFound(err, "turn", id)
	}
	return t, nil
}

// findRunningTurn returns a turn that is visible to the caller and runs in this process, in its
// claimed state and without reading the store; nil for any other turn.
func (c *core) findRunningTurn(caller Caller, id string) *store.Turn {
	t := c.pool.RunningTurn(id)
	if t == nil {
		return nil
	}
	if scope, err := caller.toScope(); err != nil || !scope.Sees(t.Owner) || !caller.seesTurnsOf(t.AgentID) {
		return nil
	}
	return t
}

// turnScope returns the scope in which the caller may access a turn and its records. The agent of a
// turn never changes, so the scope stays valid. Whether the turn exists is checked only for callers
// that may not use all agents.
func (c *core) turnScope(ctx context.Context, caller Caller, id string) (store.Scope, error) {
	scope, err := caller.toScope()
	if err == nil && caller.Agents != nil {
		_, err = c.readTurn(ctx, caller, id)
	}
	return scope, err
}

// readSession returns a session that is visible to the caller.
func (c *core) readSession(ctx context.Context, caller Caller, id string) (*store.Session, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	session, err := c.settings.Store.Session(ctx, scope, id)
	if err == nil && session.State == store.SessionStarting {
		err = store.ErrNotFound
	}
	if err == nil {
		var sees bool
		if sees, err = c.seesSession(ctx, caller, session); err == nil && !sees {
			err = store.ErrNotFound
		}
	}
	if err != nil {
		return nil, nameNotFound(err, "session", id)
	}
	c.hideCurrent(session)
	return session, nil
}

// seesSession reports whether the caller may use all agents of a session of its owner.
func (c *core) seesSession(ctx context.Context, caller Caller, session *store.Session) (bool, error) {
	if caller.Agents == nil {
		return true, nil
	}
	if session.AgentID != "" && !caller.seesTurnsOf(session.AgentID) {
		return false, nil
	}
	agents, err := c.settings.Store.SessionAgents(ctx, session.ID)
	if err != nil {
		return false, err
	}
	for _, agent := range agents {
		if !caller.seesTurnsOf(agent) {
			return false, nil
		}
	}
	return true, nil
}

// readSnapshot returns a snapshot that is visible to the caller.
func (c *core) readSnapshot(ctx context.Context, caller Caller, id string) (*store.Snapshot, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	kept, err := c.settings.Store.Snapshot(ctx, scope, id)
	if err == nil && caller.Agents != nil {
		_, err = c.readSession(ctx, caller, kept.SessionID)
	}
	if err != nil {
		return nil, nameNotFound(err, "snapshot", id)
	}
	return kept, nil
}

// checkAgent returns a not-found error for an agent that the caller may not use.
func checkAgent(caller Caller, id string) error {
	if caller.Agents.Has(id) {
		return nil
	}
	return agentNotFound(id)
}

// agentNotFound returns the error for an agent that does not exist or is hidden from the caller. It
// suggests no other agent, because that one might also be hidden.
func agentNotFound(id string) error {
	return &resolve.AgentNotFoundError{Reference: resolve.Reference{ID: id, Agent: id}}
}

// hideNearest removes the suggested agent from a not-found error if the caller may not use it.
func hideNearest(caller Caller, err error) error {
	if missing, ok := errors.AsType[*resolve.AgentNotFoundError](err); ok && caller.Agents != nil {
		return agentNotFound(missing.ID)
	}
	return err
}

// keepVisible removes the records of a list that are hidden from the caller.
func keepVisible[T any](list []T, sees func(T) (bool, error)) ([]T, error) {
	kept := list[:0]
	for _, record := range list {
		ok, err := sees(record)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, record)
		}
	}
	return kept, nil
}
