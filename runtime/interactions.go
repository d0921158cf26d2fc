package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// Interaction is a wait of a turn for something outside.
type Interaction struct {
	store.Interaction
	// Ticket is what is asked.
	Ticket plugins.Ticket
}

// ListInteractions returns what the caller's turns wait for, or waited for, the
// oldest first. The scope of the query is set by the caller.
func (s *Service) ListInteractions(ctx context.Context, caller Caller, q store.InteractionQuery) ([]*Interaction, error) {
	scope, err := caller.scope()
	if err != nil {
		return nil, err
	}
	q.Scope = scope
	if q.TurnID != "" {
		if _, err := s.readTurn(ctx, caller, q.TurnID); err != nil {
			return nil, err
		}
	}
	found, err := s.Store.Interactions(ctx, q)
	if err != nil {
		return nil, err
	}
	list, sees := make([]*Interaction, 0, len(found)), s.turnFilter(ctx, caller)
	for _, f := range found {
		visible, err := sees(f.TurnID)
		if err != nil {
			return nil, err
		}
		if !visible {
			continue
		}
		i, err := asked(f)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

func asked(i *store.Interaction) (*Interaction, error) {
	v := &Interaction{Interaction: *i}
	if err := json.Unmarshal(i.Request, &v.Ticket); err != nil {
		return nil, fmt.Errorf("decode interaction %s of turn %s: %w", i.ID, i.TurnID, err)
	}
	return v, nil
}

// ResolveInteraction answers what a turn waits for. The target of the answer is
// the interaction, by its id or that of the call. The turn goes on, here or
// elsewhere. The same answer again, with the same id if it has one, changes
// nothing and gives the same outcome.
//
// The errors are a *NotFoundError, a *backend.ResolutionError for an answer that
// does not fit what is asked, a *store.ConflictError for a different answer, and
// a *store.StateError for an interaction that was cancelled.
func (s *Service) ResolveInteraction(ctx context.Context, caller Caller, turnID string, answer plugins.Resolution) (*Interaction, error) {
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
		answer.Action = plugins.ActionResume
	}
	if i.State == store.InteractionPending {
		if err := backend.CheckResolution(&i.Ticket, &answer); err != nil {
			return nil, err
		}
	}
	return s.resolve(ctx, scope, turnID, &answer, caller.Subject)
}

func (s *Service) resolve(ctx context.Context, scope store.Scope, turnID string, answer *plugins.Resolution, by string) (*Interaction, error) {
	resolution, err := json.Marshal(answer)
	if err != nil {
		return nil, &InvalidError{"resolution", err.Error()}
	}
	resolved, err := s.Store.ResolveInteraction(ctx, &store.Resolve{Scope: scope, TurnID: turnID, ID: answer.Target, Resolution: resolution, By: by, Now: s.now()})
	if err != nil {
		return nil, named(err, "interaction", answer.Target)
	}
	s.hub.look(turnID)
	s.ring(turnID)
	return asked(resolved)
}

// findInteraction returns the interaction that a target names: by its id, or
// else the latest of the call.
func (s *Service) findInteraction(ctx context.Context, scope store.Scope, turnID, target string) (*Interaction, error) {
	i, err := s.Store.Interaction(ctx, scope, turnID, target)
	if err == nil {
		return asked(i)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	all, err := s.Store.Interactions(ctx, store.InteractionQuery{Scope: scope, TurnID: turnID})
	if err != nil {
		return nil, err
	}
	for n := len(all) - 1; n >= 0; n-- {
		if found, err := asked(all[n]); err == nil && found.Ticket.CallID == target {
			return found, nil
		}
	}
	return nil, &NotFoundError{Kind: "interaction", ID: target}
}

// expireInteractions does what the policy says about the interactions that
// nobody answered in time.
func (s *Service) expireInteractions(ctx context.Context) {
	late, err := s.Store.Interactions(ctx, store.InteractionQuery{Scope: store.Everything, State: store.InteractionPending, ExpiredBy: s.now()})
	if err != nil {
		s.complain(ctx, "the interactions that are overdue cannot be read", err)
		return
	}
	for _, i := range late {
		if err := s.expire(ctx, i); err != nil {
			s.complain(ctx, "an interaction that is overdue stays open", err, zap.String("turn_id", i.TurnID), zap.String("interaction", i.ID))
		}
	}
}

func (s *Service) expire(ctx context.Context, i *store.Interaction) error {
	text := fmt.Sprintf("nobody answered within %s", i.ExpiresAt.Sub(i.CreatedAt).Round(time.Millisecond))
	policy, err := s.onTimeout(ctx, i.TurnID)
	if err != nil {
		return err
	}
	if policy == TimeoutFails {
		_, err := s.end(ctx, Operator(), i.TurnID, event.Termination{Type: event.Failed, Code: CodeInteractionTimeout, Detail: text})
		return err
	}
	_, err = s.resolve(ctx, store.Everything, i.TurnID, &plugins.Resolution{Target: i.ID, Action: plugins.ActionCancel, Reason: text}, "")
	if errors.As(err, new(*store.ConflictError)) || errors.As(err, new(*store.StateError)) {
		return nil // somebody was faster
	}
	return err
}

// onTimeout returns what becomes of a turn that waited too long.
func (s *Service) onTimeout(ctx context.Context, turnID string) (TimeoutPolicy, error) {
	t, err := s.Store.Turn(ctx, store.Everything, turnID)
	if err != nil {
		return "", err
	}
	var asked turnRequest
	if err := json.Unmarshal(t.Request, &asked); err != nil {
		return "", fmt.Errorf("read what turn %s was asked for: %w", turnID, err)
	}
	return cmp.Or(asked.OnTimeout, s.OnTimeout), nil
}

// The codes of turns that the service ends, besides those of package backend.
const (
	// CodeInteractionTimeout is a turn that waited too long for a person.
	CodeInteractionTimeout = "interaction_timeout"
	// CodePoison is a turn over which too many workers died.
	CodePoison = "poison"
	// CodeUnresolved is a turn whose agent did not resolve any more when it was
	// to go on.
	CodeUnresolved = "unresolved"
	// CodeInvalidText is a turn of which a text cannot be stored, like the name of
	// an artifact with a NUL.
	CodeInvalidText = "invalid_text"
)
