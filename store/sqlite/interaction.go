package sqlite

import (
	"bytes"
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// getInteraction returns an interaction that the scope sees.
func getInteraction(ctx context.Context, q *db.Queries, scope store.Scope, turnID, id string) (*db.Interaction, error) {
	row, err := q.GetInteraction(ctx, db.GetInteractionParams{TurnID: turnID, ID: id})
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	return &row, err
}

// AnswerInteraction answers a pending interaction.
func (s *Store) AnswerInteraction(ctx context.Context, r *store.Answer) (resolved *store.Interaction, err error) {
	if err := r.CheckText(); err != nil {
		return nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		row, err := getInteraction(ctx, tx.Queries, r.Scope, r.TurnID, r.ID)
		if err != nil {
			return err
		}
		resolved = interactionOf(row)
		if resolved.State != store.InteractionPending {
			return rules.CheckAnswer(resolved, r)
		}
		resolved.State, resolved.Answer, resolved.AnsweredBy = store.InteractionAnswered, bytes.Clone(r.Answer), r.By
		resolved.AnsweredAt = sqlstore.Truncate(r.Now)
		if err := tx.Resolve(ctx, db.ResolveParams{Resolution: r.Answer, ResolvedBy: r.By, ResolvedAt: sqlstore.ToMicros(r.Now), N: row.N}); err != nil {
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
	t, err := tx.OwnedTurn(ctx, r.TurnID)
	if err != nil || t.Status != string(store.Waiting) {
		return err
	}
	if err := tx.WakeTurn(ctx, db.WakeTurnParams{At: sqlstore.ToMicros(r.Now), Made: t.Made}); err != nil {
		return err
	}
	return s.makeRoom(ctx, tx, t.Tenant, t.SessionID, r.Now)
}
