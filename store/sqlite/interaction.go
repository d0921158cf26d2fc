package sqlite

import (
	"bytes"
	"cmp"
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Interaction returns an interaction.
func (s *Store) Interaction(ctx context.Context, scope store.Scope, turnID, id string) (*store.Interaction, error) {
	row, err := getInteraction(ctx, s.queries, scope, turnID, id)
	if err != nil {
		return nil, wrapError("read interaction", id+" of turn "+turnID, err)
	}
	return interactionOf(row), nil
}

// getInteraction returns an interaction that the scope sees.
func getInteraction(ctx context.Context, q *db.Queries, scope store.Scope, turnID, id string) (*db.Interaction, error) {
	row, err := q.GetInteraction(ctx, db.GetInteractionParams{TurnID: turnID, ID: id})
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	return &row, err
}

// Interactions returns interactions, the oldest first.
func (s *Store) Interactions(ctx context.Context, q store.InteractionQuery) ([]*store.Interaction, error) {
	f := dialect.Select("SELECT n, turn_id, id, session_id, tenant, subject, state, action, request, resolution, resolved_by, created_at, expires_at, resolved_at FROM interactions")
	f.Interactions(&q)
	if !q.ExpiredBy.IsZero() {
		f.Where("expires_at <> 0") // which is no time
	}
	query, args := f.Statement("ORDER BY created_at, n " + f.Limit(cmp.Or(q.Limit, store.MaxPage)))
	found, err := readRecords(ctx, s.read, func(r *db.Interaction) []any {
		return []any{&r.N, &r.TurnID, &r.ID, &r.SessionID, &r.Tenant, &r.Subject, &r.State, &r.Action, &r.Request,
			&r.Resolution, &r.ResolvedBy, &r.CreatedAt, &r.ExpiresAt, &r.ResolvedAt}
	}, interactionOf)(query, args)
	return found, wrapError("list interactions", q.TurnID, err)
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
		resolved.AnsweredAt = fromMicros(toMicros(r.Now))
		if err := tx.Resolve(ctx, db.ResolveParams{Resolution: r.Answer, ResolvedBy: r.By, ResolvedAt: toMicros(r.Now), N: row.N}); err != nil {
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
	if err := tx.WakeTurn(ctx, db.WakeTurnParams{At: toMicros(r.Now), Made: t.Made}); err != nil {
		return err
	}
	return s.makeRoom(ctx, tx, t.Tenant, t.SessionID, r.Now)
}
