package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/store"
)

// Turns creates, reads and ends turns. It is safe for concurrent use.
type Turns struct {
	*core

	agents     *Agents
	log        *EventLog
	snapshots  *Snapshots
	starts     *starts
	variables  *Variables
	workspaces *Workspaces
}

// GetTurn returns a turn.
func (s *Turns) GetTurn(ctx context.Context, caller Caller, id string) (*Turn, error) {
	return s.viewTurn(ctx, caller, id)
}

// TurnList is a page of turns.
type TurnList struct {
	Turns []*Turn
	// Next is the cursor of the next page; empty on the last one.
	Next string
	// Total is the number of turns on all pages, if the query requests it.
	Total int
}

// ListTurns returns a page of the caller's turns, newest first unless the query says otherwise. The
// scope of the query is set from the caller. If the caller may not use all agents, a page may be
// short, and has no Total unless the query names the agent.
func (s *Turns) ListTurns(ctx context.Context, caller Caller, q store.TurnQuery) (*TurnList, error) {
	var err error
	if q.Scope, err = caller.toScope(); err != nil {
		return nil, err
	}
	if q.AgentID != "" && !caller.seesTurnsOf(q.AgentID) || q.Tenant != "" && !q.Scope.All && q.Tenant != q.Scope.Owner.Tenant {
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

const (
	// maxExamined limits how many turns one call of FindTurns examines, and examinedPage how many
	// it reads at a time.
	maxExamined  = 2000
	examinedPage = 200
)

// FindTurns is like ListTurns, newest first, but returns only turns for which matches returns true.
// It examines at most 2,000 turns: a page with few turns, or none, may still have a Next.
func (s *Turns) FindTurns(ctx context.Context, caller Caller, q store.TurnQuery, matches func(*Turn) (bool, error)) (*TurnList, error) {
	found, limit := &TurnList{Turns: []*Turn{}}, q.Page.Size()
	q.ByChange, q.Count, q.Page.Limit = false, false, examinedPage
	for range maxExamined / examinedPage {
		page, err := s.ListTurns(ctx, caller, q)
		if err != nil {
			return nil, err
		}
		for i, t := range page.Turns {
			ok, err := matches(t)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			found.Turns = append(found.Turns, t)
			if len(found.Turns) == limit && (page.Next != "" || i < len(page.Turns)-1) {
				found.Next = store.Cursor{Time: t.CreatedAt, ID: t.ID}.String()
				return found, nil
			}
		}
		found.Next, q.Page.After = page.Next, page.Next
		if page.Next == "" {
			break
		}
	}
	return found, nil
}

// TurnInput returns the input messages of a turn.
func (s *Turns) TurnInput(ctx context.Context, caller Caller, id string) ([]model.Message, error) {
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
	input, err := work.DecodeMessages(own[:min(asked.InputCount, len(own))])
	if err != nil {
		return nil, fmt.Errorf("read the input of turn %s: %w", id, err)
	}
	return input, nil
}

// TurnVariables returns the names of a turn's variables, in order. It does not return their values,
// which can be secrets.
func (s *Turns) TurnVariables(ctx context.Context, caller Caller, id string) ([]string, error) {
	t, err := s.readTurn(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	asked, err := decodeRequest(t)
	if err != nil || len(asked.Variables) == 0 {
		return nil, err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(asked.Variables, &values); err != nil {
		return nil, fmt.Errorf("read the variables of turn %s: %w", id, err)
	}
	return slices.Sorted(maps.Keys(values)), nil
}

// TurnMessages returns the messages of a turn: its input and the messages added so far. Messages
// of a failed or canceled turn are not part of its session.
func (s *Turns) TurnMessages(ctx context.Context, caller Caller, id string) ([]model.Message, error) {
	if _, err := s.readTurn(ctx, caller, id); err != nil {
		return nil, err
	}
	own, err := s.settings.Store.OwnMessages(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := work.DecodeMessages(own)
	if err != nil {
		return nil, fmt.Errorf("read the messages of turn %s: %w", id, err)
	}
	return list, nil
}

// CancelTurn ends a live turn, wherever it runs; it does not change an ended turn. The returned
// turn is never live.
func (s *Turns) CancelTurn(ctx context.Context, caller Caller, id, reason string) (*Turn, error) {
	return s.endTurn(ctx, caller, id, event.Termination{Type: event.Canceled, Detail: reason})
}

// DetachTurn keeps a turn running when the caller that waits for it disconnects. It does not change
// an ended turn.
func (s *Turns) DetachTurn(ctx context.Context, caller Caller, id string) (*Turn, error) {
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
