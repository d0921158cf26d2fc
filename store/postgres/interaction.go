package postgres

import (
	"bytes"
	"cmp"
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// Interaction returns an interaction.
func (s *Store) Interaction(ctx context.Context, scope store.Scope, turnID, id string) (*store.Interaction, error) {
	row, err := s.queries.GetInteraction(ctx, db.GetInteractionParams{TurnID: turnID, ID: id})
	if err == nil {
		err = visible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, wrap("read interaction", turnID+"/"+id, err)
	}
	return interactionOf(&row), nil
}

// Interactions returns interactions, the oldest first.
func (s *Store) Interactions(ctx context.Context, q store.InteractionQuery) ([]*store.Interaction, error) {
	f := filter{query: db.SelectInteractions}
	f.scope(q.Scope)
	f.equals("turn_id", q.TurnID)
	f.equals("session_id", q.SessionID)
	f.equals("state", string(q.State))
	if !q.ExpiredBy.IsZero() {
		f.where("expires_at <= " + f.arg(instant.Time(q.ExpiredBy)))
	}
	query := f.text("ORDER BY created_at, turn_id, n LIMIT " + f.arg(cmp.Or(q.Limit, store.MaxPage)))
	rows, err := rowsOf[db.Interaction](ctx, s.pool, query, f.args)
	if err != nil {
		return nil, wrap("list", "interactions", err)
	}
	return interactionsOf(rows), nil
}

// ResolveInteraction answers a pending interaction.
func (s *Store) ResolveInteraction(ctx context.Context, r *store.Resolve) (resolved *store.Interaction, err error) {
	if err := r.CheckText(); err != nil {
		return nil, err
	}
	err = s.transact(ctx, func(tx pgx.Tx) error {
		turn, err := s.lockTurn(ctx, tx, r.Scope, r.TurnID)
		if err != nil {
			return err
		}
		row, err := s.queries.WithTx(tx).GetInteraction(ctx, db.GetInteractionParams{TurnID: r.TurnID, ID: r.ID})
		if err != nil {
			return err
		}
		if store.InteractionState(row.State) != store.InteractionPending {
			resolved = interactionOf(&row)
			return answered(resolved, r)
		}
		now, jobs, err := s.resolve(ctx, tx, turn, r)
		if err != nil {
			return err
		}
		resolved = interactionOf(now)
		return s.enqueue(ctx, tx, jobs)
	})
	if err != nil {
		return nil, wrap("answer interaction", r.TurnID+"/"+r.ID, err)
	}
	return resolved, nil
}

// answered returns why an interaction cannot be given an answer once more; nil
// for the same answer.
func answered(i *store.Interaction, r *store.Resolve) error {
	switch {
	case i.State == store.InteractionCanceled:
		return &store.StateError{Kind: "interaction", ID: i.ID, State: string(i.State), Want: "answered"}
	case !bytes.Equal(i.Resolution, r.Resolution):
		return &store.ConflictError{TurnID: r.TurnID, ID: r.ID}
	default:
		return nil
	}
}

// resolve answers an interaction of a turn that is locked, and admits the turn
// if it waits and there is room.
func (s *Store) resolve(ctx context.Context, tx pgx.Tx, turn *db.Turn, r *store.Resolve) (*db.Interaction, []store.Job, error) {
	var (
		p     pipeline
		rows  []db.Interaction
		found []string
	)
	now := instant.Time(r.Now)
	collect(&p, &rows, db.Resolve, []byte(r.Resolution), r.By, now, r.TurnID, r.ID)
	if turn.Status == string(store.Waiting) {
		if err := p.queries().WakeTurn(ctx, db.WakeTurnParams{At: now, ID: turn.ID}); err != nil {
			return nil, nil, err
		}
		s.admit(&p, []string{turn.Tenant}, []string{turn.SessionID}, r.Now, &found)
	}
	if err := p.send(ctx, tx); err != nil {
		return nil, nil, err
	}
	return one(rows), jobsOf(found), nil
}
