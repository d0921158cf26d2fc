package sqlite

import (
	"bytes"
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// AnswerInteraction answers a pending interaction.
func (s *Store) AnswerInteraction(ctx context.Context, r *store.Answer) (resolved *store.Interaction, err error) {
	if err := r.CheckText(); err != nil {
		return nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		resolved, err = sqlstore.FindInteraction(ctx, tx, r.Scope, r.TurnID, r.ID)
		if err != nil {
			return err
		}
		if resolved.State != store.InteractionPending {
			return rules.CheckAnswer(resolved, r)
		}
		resolved.State, resolved.Answer, resolved.AnsweredBy = store.InteractionAnswered, bytes.Clone(r.Answer), r.By
		resolved.AnsweredAt = sqlstore.Truncate(r.Now)
		_, err = tx.Exec(ctx, "UPDATE interactions SET state = 'resolved', resolution = ?, resolved_by = ?, resolved_at = ? WHERE turn_id = ? AND id = ?",
			[]byte(r.Answer), r.By, sqlstore.ToMicros(r.Now), r.TurnID, r.ID)
		if err != nil {
			return err
		}
		return s.wakeTurn(ctx, tx, r)
	})
	if err != nil {
		return nil, wrapError("answer interaction", r.ID+" of turn "+r.TurnID, err)
	}
	return resolved, nil
}

// wakeTurn makes a turn go on that waits for an answer.
func (s *Store) wakeTurn(ctx context.Context, tx *tx, r *store.Answer) error {
	t, err := findChanging(ctx, tx, r.TurnID)
	if err != nil || t.status != store.Waiting {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE turns SET status = 'pending', updated_at = ?1, changed_at = ?1 WHERE made = ?2", sqlstore.ToMicros(r.Now), t.made); err != nil {
		return err
	}
	return s.makeRoom(ctx, tx, t.owner.Tenant, t.sessionID, r.Now)
}
