package service

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/store"
)

// Interactions lists, answers and expires the interactions of turns. It is safe for concurrent
// use.
type Interactions struct {
	*core

	turns *Turns
}

// ListInteractions returns the pending and past interactions of the caller's turns, oldest first.
// It sets the scope of the query.
func (s *Interactions) ListInteractions(ctx context.Context, caller Caller, q store.InteractionQuery) ([]*Interaction, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	q.Scope = scope
	if q.TurnID != "" {
		if _, err := s.readTurn(ctx, caller, q.TurnID); err != nil {
			return nil, err
		}
	}
	found, err := s.settings.Store.Interactions(ctx, q)
	if err != nil {
		return nil, err
	}
	list := make([]*Interaction, 0, len(found))
	for _, f := range found {
		if !caller.seesTurnsOf(f.AgentID) {
			continue
		}
		i, err := interactionFrom(f)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

// AnswerInteraction answers an interaction, found by its id or the id of its call, and the turn
// continues, in any process. Repeating the same answer, with the same id if it has one, changes
// nothing and returns the same outcome.
//
// The errors are a *NotFoundError, an *interaction.AnswerError for an answer that does not fit the
// request, a *store.ConflictError for a different answer, and a *store.StateError for a canceled
// interaction.
func (s *Interactions) AnswerInteraction(ctx context.Context, caller Caller, turnID string, answer interaction.Answer) (*Interaction, error) {
	scope, err := s.turnScope(ctx, caller, turnID)
	if err != nil {
		return nil, err
	}
	i, err := s.findInteraction(ctx, scope, turnID, answer.Target)
	if err != nil {
		return nil, err
	}
	answer.Target = i.ID
	if answer.Action == "" {
		answer.Action = interaction.Resume
	}
	if i.State == store.InteractionPending {
		if err := interaction.Check(ctx, &i.Request, &answer); err != nil {
			return nil, err
		}
		if err := s.checkAnswerMessage(ctx, caller, turnID, &answer); err != nil {
			return nil, err
		}
	}
	return s.answerInteraction(ctx, scope, turnID, &answer, caller.Subject)
}

// checkAnswerMessage returns an error if a message cannot accompany an answer.
func (s *Interactions) checkAnswerMessage(ctx context.Context, caller Caller, turnID string, answer *interaction.Answer) error {
	if len(answer.Message) == 0 {
		return nil
	}
	if _, err := backend.AnswerMessage(answer); err != nil {
		return err
	}
	t, err := s.readTurn(ctx, caller, turnID)
	if err != nil || s.settings.Runtime == nil {
		return err
	}
	if agent, ok := s.settings.Runtime.Revision().Set().Agent(t.AgentID); ok && !agent.Local() {
		return &interaction.AnswerError{Target: answer.Target, Problem: "a message cannot accompany an answer to agent " + t.AgentID + ", whose loop runs elsewhere"}
	}
	return nil
}

func (s *Interactions) answerInteraction(ctx context.Context, scope store.Scope, turnID string, answer *interaction.Answer, by string) (*Interaction, error) {
	resolution, err := json.Marshal(answer)
	if err != nil {
		return nil, &InvalidError{"resolution", err.Error()}
	}
	resolved, err := s.settings.Store.AnswerInteraction(ctx, &store.Answer{Scope: scope, TurnID: turnID, ID: answer.Target, Answer: resolution, By: by, Now: s.now()})
	if err != nil {
		return nil, nameNotFound(err, "interaction", answer.Target)
	}
	s.announceTurn(turnID)
	return interactionFrom(resolved)
}

// findInteraction returns the interaction with the target as its id, or else the latest one of the
// call with that id.
func (s *Interactions) findInteraction(ctx context.Context, scope store.Scope, turnID, target string) (*Interaction, error) {
	i, err := s.settings.Store.Interaction(ctx, scope, turnID, target)
	if err == nil {
		return interactionFrom(i)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	all, err := s.settings.Store.Interactions(ctx, store.InteractionQuery{Scope: scope, TurnID: turnID})
	if err != nil {
		return nil, err
	}
	for n := len(all) - 1; n >= 0; n-- {
		if found, err := interactionFrom(all[n]); err == nil && found.Request.CallID == target {
			return found, nil
		}
	}
	return nil, &NotFoundError{Kind: "interaction", ID: target}
}
