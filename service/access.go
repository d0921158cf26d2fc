package service

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/store"
)

// What a caller may see and change is decided here, for all surfaces. A caller
// sees what belongs to its owner. One that may not use all agents also needs to
// be allowed the agent of what it asks for:
//
//   - A turn, its events, interactions, artifacts and webhooks belong to the agent
//     that the turn was made for. Agents that it delegates or hands over to are
//     part of what that agent does, so the caller need not be allowed those.
//   - A session and its snapshots belong to the agent that the session names and
//     to all agents that turns of it were made for: the conversation holds what
//     all their messages, and the next turn gets them.
//
// The rest looks as if it did not exist.

// readTurn returns a turn that the caller sees.
func (s *Service) readTurn(ctx context.Context, caller Caller, id string) (*store.Turn, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	t, err := s.settings.Store.Turn(ctx, scope, id)
	if err == nil && !caller.seesTurnsOf(t.AgentID) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, nameNotFound(err, "turn", id)
	}
	return t, nil
}

// findRunningTurn returns a turn that the caller sees and that runs in this process, as it
// was claimed and without a look at the store. It is nil for all others.
func (s *Service) findRunningTurn(caller Caller, id string) *store.Turn {
	t := s.pool.RunningTurn(id)
	if t == nil {
		return nil
	}
	if scope, err := caller.toScope(); err != nil || !scope.Sees(t.Owner) || !caller.seesTurnsOf(t.AgentID) {
		return nil
	}
	return t
}

// turnScope returns the scope in which the caller may read or change a turn and
// what belongs to it. The agent of a turn never changes, so that what holds now
// holds when the scope is used. Whether there is such a turn at all is known only
// for callers that may not use all agents.
func (s *Service) turnScope(ctx context.Context, caller Caller, id string) (store.Scope, error) {
	scope, err := caller.toScope()
	if err == nil && caller.Agents != nil {
		_, err = s.readTurn(ctx, caller, id)
	}
	return scope, err
}

// readSession returns a session that the caller sees.
func (s *Service) readSession(ctx context.Context, caller Caller, id string) (*store.Session, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	session, err := s.settings.Store.Session(ctx, scope, id)
	if err == nil && session.State == store.SessionStarting {
		err = store.ErrNotFound
	}
	if err == nil {
		var sees bool
		if sees, err = s.seesSession(ctx, caller, session); err == nil && !sees {
			err = store.ErrNotFound
		}
	}
	if err != nil {
		return nil, nameNotFound(err, "session", id)
	}
	s.hideCurrent(session)
	return session, nil
}

// seesSession reports whether the caller may use all agents of a session that
// belongs to its owner.
func (s *Service) seesSession(ctx context.Context, caller Caller, session *store.Session) (bool, error) {
	if caller.Agents == nil {
		return true, nil
	}
	if session.AgentID != "" && !caller.seesTurnsOf(session.AgentID) {
		return false, nil
	}
	agents, err := s.settings.Store.SessionAgents(ctx, session.ID)
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

// readSnapshot returns a snapshot that the caller sees.
func (s *Service) readSnapshot(ctx context.Context, caller Caller, id string) (*store.Snapshot, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	kept, err := s.settings.Store.Snapshot(ctx, scope, id)
	if err == nil && caller.Agents != nil {
		_, err = s.readSession(ctx, caller, kept.SessionID)
	}
	if err != nil {
		return nil, nameNotFound(err, "snapshot", id)
	}
	return kept, nil
}

// checkAgent reports an agent that the caller may not use as one that does not
// exist.
func checkAgent(caller Caller, id string) error {
	if caller.Agents.Has(id) {
		return nil
	}
	return agentNotFound(id)
}

// agentNotFound returns the error of an agent that does not exist, or that the caller
// may not use. It has no nearest agent: that might be another one that it may not use.
func agentNotFound(id string) error {
	return &resolve.AgentNotFoundError{Reference: resolve.Reference{ID: id, Agent: id}}
}

// hideNearest returns the error of an agent that does not exist as the caller may
// see it: what is near may be an agent that it may not use.
func hideNearest(caller Caller, err error) error {
	if missing, ok := errors.AsType[*resolve.AgentNotFoundError](err); ok && caller.Agents != nil {
		return agentNotFound(missing.ID)
	}
	return err
}

// turnFilter returns a function that reports whether the caller sees a turn of its
// owner, by its id. It reads each turn once.
func (s *Service) turnFilter(ctx context.Context, caller Caller) func(id string) (bool, error) {
	known := make(map[string]bool)
	return func(id string) (bool, error) {
		if caller.Agents == nil {
			return true, nil
		}
		if sees, ok := known[id]; ok {
			return sees, nil
		}
		_, err := s.readTurn(ctx, caller, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
		known[id] = err == nil
		return err == nil, nil
	}
}
