package postgres

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// EndTurn ends a live turn from outside.
func (s *Store) EndTurn(ctx context.Context, e *store.EndTurn) (ended *store.Turn, err error) {
	if err := e.CheckText(); err != nil {
		return nil, err
	}
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		row, err := s.lockTurn(ctx, tx, e.Scope, e.TurnID)
		if err != nil {
			return err
		}
		if !store.Status(row.Status).Live() {
			ended = turnOf(row)
			return nil
		}
		now, jobs, err := s.endTurn(ctx, tx, row, e)
		if err != nil {
			return err
		}
		ended = turnOf(now)
		return s.enqueueJobs(ctx, tx, jobs)
	})
	if err != nil {
		return nil, wrapError("end turn", e.TurnID, err)
	}
	return ended, nil
}

// lockTurn locks a turn that the scope sees, with its session and the room of
// its tenant.
func (s *Store) lockTurn(ctx context.Context, tx pgx.Tx, scope store.Scope, id string) (*db.Turn, error) {
	var (
		p        pipeline
		sessions []db.Session
		turns    []db.Turn
	)
	s.lockTenants(ctx, &p, id)
	queueRows(&p, &sessions, db.LockSessionOfTurn, id)
	queueRows(&p, &turns, db.LockTurn, id)
	if err := p.sendQueued(ctx, tx); err != nil {
		return nil, err
	}
	row := oneRow(turns)
	if row == nil {
		return nil, store.ErrNotFound
	}
	return row, rules.CheckVisible(scope, row.Tenant, row.Subject)
}

// endTurn ends a turn that is locked, and admits what that makes room for.
func (s *Store) endTurn(ctx context.Context, tx pgx.Tx, row *db.Turn, e *store.EndTurn) (*db.Turn, []store.Job, error) {
	var (
		p     pipeline
		turns []db.Turn
		found []string
		last  events
	)
	q := p.queuedQueries()
	ids, sessions := []string{row.ID}, []string{row.SessionID}
	now := instant.Time(e.Now)
	last.addEvent(row.ID, row.SessionID, row.Seq+1, &e.Event)
	queueRows(&p, &turns, db.EndTurn, string(e.Status), []byte(e.Result), now, row.ID)
	err := errors.Join(
		q.InsertEvents(ctx, last.InsertEventsParams),
		q.CancelInteractions(ctx, ids),
		q.DeleteStates(ctx, ids),
		q.EndedInSessions(ctx, db.EndedInSessionsParams{Ids: sessions, Tips: []string{""}, CurrentAgentIds: []string{""}, Ats: []instant.Time{now}}),
	)
	if err != nil {
		return nil, nil, err
	}
	s.queueAdmission(&p, []string{row.Tenant}, sessions, e.Now, &found)
	if err := p.sendQueued(ctx, tx); err != nil {
		return nil, nil, err
	}
	return oneRow(turns), jobsOf(found), nil
}
