package sqlite

import (
	"bytes"
	"cmp"
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Interaction returns an interaction.
func (s *Store) Interaction(ctx context.Context, scope store.Scope, turnID, id string) (*store.Interaction, error) {
	row, err := getInteraction(ctx, s.queries, scope, turnID, id)
	if err != nil {
		return nil, wrap("read interaction", id+" of turn "+turnID, err)
	}
	return interactionOf(row), nil
}

// getInteraction returns an interaction that the scope sees.
func getInteraction(ctx context.Context, q *db.Queries, scope store.Scope, turnID, id string) (*db.Interaction, error) {
	row, err := q.GetInteraction(ctx, db.GetInteractionParams{TurnID: turnID, ID: id})
	if err == nil && !scope.Sees(store.Owner{Tenant: row.Tenant, Subject: row.Subject}) {
		err = store.ErrNotFound
	}
	return &row, err
}

// Interactions returns interactions, the oldest first.
func (s *Store) Interactions(ctx context.Context, q store.InteractionQuery) ([]*store.Interaction, error) {
	f := &filter{query: "SELECT n, turn_id, id, session_id, tenant, subject, state, action, request, resolution, resolved_by, created_at, expires_at, resolved_at FROM interactions"}
	f.scope(q.Scope)
	f.equals("turn_id", q.TurnID)
	f.equals("session_id", q.SessionID)
	switch q.State {
	case "":
	case store.InteractionPending:
		f.where("state = 'pending'") // as the indexes have it
	default:
		f.equals("state", string(q.State))
	}
	if !q.ExpiredBy.IsZero() {
		f.where("expires_at <> 0 AND expires_at <= ?", micros(q.ExpiredBy))
	}
	f.args = append(f.args, cmp.Or(q.Limit, store.MaxPage))
	list, err := collect(ctx, s.read, f.text("ORDER BY created_at, n LIMIT ?"), f.args, func(r *db.Interaction) []any {
		return []any{&r.N, &r.TurnID, &r.ID, &r.SessionID, &r.Tenant, &r.Subject, &r.State, &r.Action, &r.Request,
			&r.Resolution, &r.ResolvedBy, &r.CreatedAt, &r.ExpiresAt, &r.ResolvedAt}
	})
	if err != nil {
		return nil, wrap("list interactions", q.TurnID, err)
	}
	found := make([]*store.Interaction, len(list))
	for i := range list {
		found[i] = interactionOf(&list[i])
	}
	return found, nil
}

// ResolveInteraction answers a pending interaction.
func (s *Store) ResolveInteraction(ctx context.Context, r *store.Resolve) (resolved *store.Interaction, err error) {
	if err := r.CheckText(); err != nil {
		return nil, err
	}
	err = s.write(ctx, func(ctx context.Context, tx *tx) error {
		row, err := getInteraction(ctx, tx.Queries, r.Scope, r.TurnID, r.ID)
		if err != nil {
			return err
		}
		resolved = interactionOf(row)
		switch {
		case resolved.State == store.InteractionCanceled:
			return &store.StateError{Kind: "interaction", ID: r.ID, State: row.State, Want: "answered"}
		case resolved.State == store.InteractionPending:
		case bytes.Equal(resolved.Resolution, r.Resolution):
			return nil
		default:
			return &store.ConflictError{TurnID: r.TurnID, ID: r.ID}
		}
		resolved.State, resolved.Resolution, resolved.ResolvedBy = store.InteractionResolved, bytes.Clone(r.Resolution), r.By
		resolved.ResolvedAt = instant(micros(r.Now))
		if err := tx.Resolve(ctx, db.ResolveParams{Resolution: r.Resolution, ResolvedBy: r.By, ResolvedAt: micros(r.Now), N: row.N}); err != nil {
			return err
		}
		return s.wake(ctx, tx, r)
	})
	if err != nil {
		return nil, wrap("answer interaction", r.ID+" of turn "+r.TurnID, err)
	}
	return resolved, nil
}

// wake makes a turn go on that waits for an answer.
func (s *Store) wake(ctx context.Context, tx *tx, r *store.Resolve) error {
	t, err := tx.OwnedTurn(ctx, r.TurnID)
	if err != nil || t.Status != string(store.Waiting) {
		return err
	}
	if err := tx.WakeTurn(ctx, db.WakeTurnParams{At: micros(r.Now), Made: t.Made}); err != nil {
		return err
	}
	return s.makeRoom(ctx, tx, t.Tenant, t.SessionID, r.Now)
}
