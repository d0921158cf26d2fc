package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// Turn returns a turn.
func (s *Store) Turn(ctx context.Context, scope store.Scope, id string) (*store.Turn, error) {
	row, err := s.queries.GetTurn(ctx, id)
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, wrapError("read turn", id, err)
	}
	return turnOf(&row), nil
}

// Positions returns how far turns have got.
func (s *Store) Positions(ctx context.Context, turnIDs []string) ([]store.Position, error) {
	list, err := readRows[store.Position](ctx, s.pool, "SELECT id, status, seq FROM turns WHERE id = ANY($1::text[])", []any{turnIDs})
	return list, wrapError("read positions of", fmt.Sprintf("%d turns", len(turnIDs)), err)
}

// SessionAgents returns the agents that turns of a session were made for.
func (s *Store) SessionAgents(ctx context.Context, sessionID string) ([]string, error) {
	agents, err := s.queries.SessionAgents(ctx, sessionID)
	return agents, wrapError("read the agents of session", sessionID, err)
}

// Turns returns a page of turns.
func (s *Store) Turns(ctx context.Context, q store.TurnQuery) (page store.TurnPage, err error) {
	f := dialect.Select(db.SelectTurns)
	f.Turns(&q)
	if q.Count {
		query, args := f.Count("turns")
		if page.Total, err = readCount(ctx, s.pool, query, args); err != nil {
			return page, wrapError("count", "turns", err)
		}
	}
	page.Turns, page.Next, err = sqlstore.Latest(f, sqlstore.TurnColumn(&q), q.Page, rules.TurnCursor(&q), readRecords(ctx, s.pool, turnOf))
	if err != nil {
		return store.TurnPage{}, wrapError("list", "turns", err)
	}
	return page, nil
}

// UpdateTurn changes what the patch names.
func (s *Store) UpdateTurn(ctx context.Context, scope store.Scope, id string, p store.TurnPatch) (changed *store.Turn, err error) {
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		q := s.queries.WithTx(tx)
		row, err := q.LockTurn(ctx, id)
		if err == nil {
			err = rules.CheckVisible(scope, row.Tenant, row.Subject)
		}
		if err == nil && p.Background != nil {
			row, err = q.SetBackground(ctx, db.SetBackgroundParams{Background: *p.Background, At: instant.Time(p.Now), ID: id})
		}
		if err == nil {
			changed = turnOf(&row)
		}
		return err
	})
	return changed, wrapError("change turn", id, err)
}

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
