package postgres

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// AnswerInteraction answers a pending interaction.
func (s *Store) AnswerInteraction(ctx context.Context, r *store.Answer) (resolved *store.Interaction, err error) {
	if err := r.CheckText(); err != nil {
		return nil, err
	}
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
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
			return rules.CheckAnswer(resolved, r)
		}
		now, jobs, err := s.answerInteraction(ctx, tx, turn, r)
		if err != nil {
			return err
		}
		resolved = interactionOf(now)
		return s.enqueueJobs(ctx, tx, jobs)
	})
	if err != nil {
		return nil, wrapError("answer interaction", r.TurnID+"/"+r.ID, err)
	}
	return resolved, nil
}

// answerInteraction answers an interaction of a turn that is locked, and admits the turn
// if it waits and there is room.
func (s *Store) answerInteraction(ctx context.Context, tx pgx.Tx, turn *db.Turn, r *store.Answer) (*db.Interaction, []store.Job, error) {
	var (
		p     pipeline
		rows  []db.Interaction
		found []string
	)
	now := instant.Time(r.Now)
	queueRows(&p, &rows, db.Resolve, []byte(r.Answer), r.By, now, r.TurnID, r.ID)
	if turn.Status == string(store.Waiting) {
		if err := p.queuedQueries().WakeTurn(ctx, db.WakeTurnParams{At: now, ID: turn.ID}); err != nil {
			return nil, nil, err
		}
		s.queueAdmission(&p, []string{turn.Tenant}, []string{turn.SessionID}, r.Now, &found)
	}
	if err := p.sendQueued(ctx, tx); err != nil {
		return nil, nil, err
	}
	return oneRow(rows), jobsOf(found), nil
}
