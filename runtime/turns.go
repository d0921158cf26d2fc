package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/store"
)

// StoredTurn is a turn as it is kept.
type StoredTurn struct {
	store.Turn
	// Outcome is what the turn came to; nil while it is live.
	Outcome *TurnOutcome
	// Expired tells that the turn runs and its worker gave no sign of life for so
	// long that it is taken for dead.
	Expired bool
}

// TurnOutcome is what a turn came to.
type TurnOutcome struct {
	// Agent is the id of the agent that had the conversation at the end.
	Agent    string `json:"agent,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
	// Termination says why the turn ended.
	Termination event.Termination `json:"termination"`
	// Response is the text of the last answer, and FinishReason why that ended.
	Response     string             `json:"response,omitempty"`
	FinishReason model.FinishReason `json:"finish_reason,omitempty"`
	Steps        int                `json:"steps,omitempty"`
	Usage        event.Usage        `json:"usage,omitzero"`
	Cost         *event.Cost        `json:"cost,omitempty"`
	// SnapshotID is the snapshot that the turn left; empty when it left none.
	SnapshotID string `json:"snapshot_id,omitempty"`
}

// GetTurn returns a turn.
func (s *Service) GetTurn(ctx context.Context, caller Caller, id string) (*StoredTurn, error) {
	t, err := s.readTurn(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return s.view(t), nil
}

// TurnList is a page of turns.
type TurnList struct {
	Turns []*StoredTurn
	// Next is where the next page begins; empty when there is none.
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
	if q.Scope, err = caller.scope(); err != nil {
		return nil, err
	}
	if q.AgentID != "" && !caller.seesTurnsOf(q.AgentID) {
		return &TurnList{Turns: []*StoredTurn{}}, nil
	}
	q.Count = q.Count && (q.AgentID != "" || caller.Agents == nil)
	page, err := s.Store.Turns(ctx, q)
	if err != nil {
		return nil, err
	}
	list := &TurnList{Turns: make([]*StoredTurn, 0, len(page.Turns)), Next: page.Next, Total: page.Total}
	for _, t := range page.Turns {
		if caller.seesTurnsOf(t.AgentID) {
			list.Turns = append(list.Turns, s.view(t))
		}
	}
	return list, nil
}

// CancelTurn ends a live turn, wherever it runs; a turn that has ended stays as
// it is. The turn that is returned is never live.
func (s *Service) CancelTurn(ctx context.Context, caller Caller, id, reason string) (*StoredTurn, error) {
	return s.end(ctx, caller, id, event.Termination{Type: event.Cancelled, Detail: reason})
}

// end ends a turn from outside.
func (s *Service) end(ctx context.Context, caller Caller, id string, why event.Termination) (*StoredTurn, error) {
	scope, err := s.turnScope(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	status, now := statusOf(why), s.now()
	result, err := json.Marshal(TurnOutcome{Termination: why})
	if err != nil {
		return nil, err
	}
	last, err := event.NewRecord(event.Event{Time: now, TurnID: id, Data: &event.RunFinish{Status: why.Status(), Termination: why}})
	if err != nil {
		return nil, err
	}
	elsewhere := s.elsewhere(ctx, scope, id)
	t, err := s.Store.EndTurn(ctx, &store.EndTurn{Scope: scope, TurnID: id, Status: status, Result: result, Event: last, Now: now})
	if err != nil {
		return nil, named(err, "turn", id)
	}
	if w := s.worker(id); w != nil {
		w.stop(errEnded)
	}
	s.abort(id, elsewhere)
	s.hub.look(id)
	s.ring(id)
	return s.view(t), nil
}

// statusOf returns the state of a turn that ended so.
func statusOf(t event.Termination) store.Status {
	switch t.Status() {
	case event.StatusSucceeded:
		return store.Succeeded
	case event.StatusCanceled:
		return store.Canceled
	default:
		return store.Failed
	}
}

// DetachTurn lets a turn go on whatever becomes of the caller that waits for it.
// A turn that has ended stays as it is.
func (s *Service) DetachTurn(ctx context.Context, caller Caller, id string) (*StoredTurn, error) {
	scope, err := s.turnScope(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	background := true
	t, err := s.Store.UpdateTurn(ctx, scope, id, store.TurnPatch{Background: &background, Now: s.now()})
	if err != nil {
		return nil, named(err, "turn", id)
	}
	return s.view(t), nil
}

// view returns a turn as callers see it.
func (s *Service) view(t *store.Turn) *StoredTurn {
	v := &StoredTurn{Turn: *t}
	if len(t.Result) > 0 {
		v.Outcome = new(TurnOutcome)
		if err := json.Unmarshal(t.Result, v.Outcome); err != nil {
			v.Outcome.Termination = event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: "the result of the turn cannot be read"}
		}
	}
	v.Expired = t.Status == store.Running && !t.HeartbeatAt.IsZero() && s.now().Sub(t.HeartbeatAt) > s.Expiry
	return v
}

func encodeMessages(messages []model.Message) ([][]byte, error) {
	list := make([][]byte, len(messages))
	for i := range messages {
		data, err := json.Marshal(messages[i])
		if err != nil {
			return nil, err
		}
		list[i] = data
	}
	return list, nil
}

func decodeMessages(list [][]byte) ([]model.Message, error) {
	messages := make([]model.Message, len(list))
	for i, data := range list {
		if err := json.Unmarshal(data, &messages[i]); err != nil {
			return nil, fmt.Errorf("decode message %d: %w", i+1, err)
		}
	}
	return slices.Clip(messages), nil
}
