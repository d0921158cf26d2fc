package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// expireInteractions applies the timeout policy to expired interactions.
func (s *Interactions) expireInteractions(ctx context.Context) {
	late, err := s.settings.Store.Interactions(ctx, store.InteractionQuery{Scope: store.Everything, State: store.InteractionPending, ExpiredBy: s.now()})
	if err != nil {
		s.logError(ctx, "reading overdue interactions failed", err)
		return
	}
	for _, i := range late {
		if err := s.expireInteraction(ctx, i); err != nil {
			s.logError(ctx, "expiring interaction failed", err, zap.String("turn_id", i.TurnID), zap.String("interaction", i.ID))
		}
	}
}

func (s *Interactions) expireInteraction(ctx context.Context, i *store.Interaction) error {
	text := fmt.Sprintf("nobody answered within %s", i.ExpiresAt.Sub(i.CreatedAt).Round(time.Millisecond))
	policy, err := s.onTimeout(ctx, i.TurnID)
	if err != nil {
		return err
	}
	if policy == TimeoutFails {
		_, err := s.turns.endTurn(ctx, Operator(), i.TurnID, event.Termination{Type: event.Failed, Code: CodeInteractionTimeout, Detail: text})
		return err
	}
	_, err = s.answerInteraction(ctx, store.Everything, i.TurnID, &interaction.Answer{Target: i.ID, Action: interaction.Cancel, Reason: text}, "")
	if errors.As(err, new(*store.ConflictError)) || errors.As(err, new(*store.StateError)) {
		return nil // somebody was faster
	}
	return err
}

// onTimeout returns the policy for a turn that waited too long.
func (s *Interactions) onTimeout(ctx context.Context, turnID string) (TimeoutPolicy, error) {
	t, err := s.settings.Store.Turn(ctx, store.Everything, turnID)
	if err != nil {
		return "", err
	}
	asked, err := decodeRequest(t)
	if err != nil {
		return "", err
	}
	return cmp.Or(asked.OnTimeout, s.settings.OnTimeout), nil
}
