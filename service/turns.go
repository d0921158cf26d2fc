package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service/internal/messages"
	"github.com/agentruntime/agentruntime/store"
)

// GetTurn returns a turn.
func (s *Service) GetTurn(ctx context.Context, caller Caller, id string) (*Turn, error) {
	t, err := s.readTurn(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return s.turnView(t), nil
}

// followedTurn is GetTurn for callers that only ask whether the turn is live: one that makes
// a turn in this process and waits for it spares the database a read.
func (s *Service) followedTurn(ctx context.Context, caller Caller, id string) (*Turn, error) {
	if t := s.findRunningTurn(caller, id); t != nil {
		return &Turn{Turn: *t}, nil
	}
	return s.GetTurn(ctx, caller, id)
}

// TurnList is a page of turns.
type TurnList struct {
	Turns []*Turn
	// Next is the cursor of the next page; empty on the last one.
	Next string
	// Total is how many turns there are on all pages, if the query asks for it.
	Total int
}

// ListTurns returns a page of the caller's turns, the newest first unless the
// query says otherwise. The scope of the query is set by the caller. A page for a
// caller that may not use all agents may have fewer turns than there is room for,
// and no Total unless the query names the agent.
func (s *Service) ListTurns(ctx context.Context, caller Caller, q store.TurnQuery) (*TurnList, error) {
	var err error
	if q.Scope, err = caller.toScope(); err != nil {
		return nil, err
	}
	if q.AgentID != "" && !caller.seesTurnsOf(q.AgentID) {
		return &TurnList{Turns: []*Turn{}}, nil
	}
	q.Statuses = slices.Compact(slices.Sorted(slices.Values(q.Statuses)))
	q.Count = q.Count && (q.AgentID != "" || caller.Agents == nil)
	page, err := s.settings.Store.Turns(ctx, q)
	if err != nil {
		return nil, err
	}
	list := &TurnList{Turns: make([]*Turn, 0, len(page.Turns)), Next: page.Next, Total: page.Total}
	for _, t := range page.Turns {
		if caller.seesTurnsOf(t.AgentID) {
			list.Turns = append(list.Turns, s.turnView(t))
		}
	}
	return list, nil
}

// TurnInput returns the messages that a turn was given.
func (s *Service) TurnInput(ctx context.Context, caller Caller, id string) ([]model.Message, error) {
	t, err := s.readTurn(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	asked, err := decodeRequest(t)
	if err != nil {
		return nil, err
	}
	own, err := s.settings.Store.OwnMessages(ctx, id)
	if err != nil {
		return nil, err
	}
	input, err := messages.Decode(own[:min(asked.InputCount, len(own))])
	if err != nil {
		return nil, fmt.Errorf("read the input of turn %s: %w", id, err)
	}
	return input, nil
}

// TurnMessages returns the messages of a turn: its input, and what it has added so far.
// Those of a turn that failed or was canceled are not part of its session.
func (s *Service) TurnMessages(ctx context.Context, caller Caller, id string) ([]model.Message, error) {
	if _, err := s.readTurn(ctx, caller, id); err != nil {
		return nil, err
	}
	own, err := s.settings.Store.OwnMessages(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := messages.Decode(own)
	if err != nil {
		return nil, fmt.Errorf("read the messages of turn %s: %w", id, err)
	}
	return list, nil
}

// CancelTurn ends a live turn, wherever it runs; a turn that has ended stays as
// it is. The turn that is returned is never live.
func (s *Service) CancelTurn(ctx context.Context, caller Caller, id, reason string) (*Turn, error) {
	return s.endTurn(ctx, caller, id, event.Termination{Type: event.Canceled, Detail: reason})
}

// DetachTurn lets a turn go on whatever becomes of the caller that waits for it.
// A turn that has ended stays as it is.
func (s *Service) DetachTurn(ctx context.Context, caller Caller, id string) (*Turn, error) {
	scope, err := s.turnScope(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	background := true
	t, err := s.settings.Store.UpdateTurn(ctx, scope, id, store.TurnPatch{Background: &background, Now: s.now()})
	if err != nil {
		return nil, nameNotFound(err, "turn", id)
	}
	return s.turnView(t), nil
}
