package postgres

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// Session returns a session.
func (s *Store) Session(ctx context.Context, scope store.Scope, id string) (*store.Session, error) {
	row, err := s.queries.GetSession(ctx, id)
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, wrapError("read session", id, err)
	}
	return sessionOf(&row)
}

// Sessions returns a page of sessions.
func (s *Store) Sessions(ctx context.Context, q store.SessionQuery) (page store.SessionPage, err error) {
	f := dialect.Select(db.SelectSessions)
	f.Sessions(&q)
	for key, value := range q.Labels {
		f.Label(key, value)
	}
	page.Sessions, page.Next, err = sqlstore.Latest(f, "active_at", q.Page, rules.SessionCursor, readSessions(ctx, s.pool))
	return page, wrapError("list", "sessions", err)
}

// UpdateSession changes what the patch names.
func (s *Store) UpdateSession(ctx context.Context, scope store.Scope, id string, p store.SessionPatch) (changed *store.Session, err error) {
	if err := p.CheckText(); err != nil {
		return nil, err
	}
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		q := s.queries.WithTx(tx)
		row, err := q.LockSession(ctx, id)
		if err == nil {
			err = rules.CheckVisible(scope, row.Tenant, row.Subject)
		}
		if err == nil {
			err = patchSession(ctx, q, &row, &p)
		}
		if err != nil {
			return err
		}
		if row, err = q.GetSession(ctx, id); err != nil {
			return err
		}
		changed, err = sessionOf(&row)
		return err
	})
	return changed, wrapError("change session", id, err)
}

// patchSession changes a session whose row is locked.
func patchSession(ctx context.Context, q *db.Queries, row *db.Session, p *store.SessionPatch) error {
	session, err := sessionOf(row)
	if err != nil {
		return err
	}
	current := ""
	if p.Tip != nil {
		if current, err = checkTip(ctx, q, row.ID, *p.Tip); err != nil {
			return err
		}
	}
	rules.PatchSession(session, p, current)
	text, keys, values, err := labelsOf(session.Labels)
	if err != nil {
		return err
	}
	err = q.UpdateSession(ctx, db.UpdateSessionParams{
		ID: session.ID, AgentID: session.AgentID, State: string(session.State), Labels: text, Metadata: session.Metadata, Tip: session.Tip,
		UpdatedAt: instant.Time(session.UpdatedAt), CurrentAgentID: session.CurrentAgentID,
	})
	if err != nil || p.Labels == nil {
		return err
	}
	return errors.Join(q.DeleteLabels(ctx, row.ID), insertLabels(ctx, q, row.ID, keys, values))
}

// checkTip returns the current agent of a snapshot to which the tip of a session, which is
// locked, may be moved.
func checkTip(ctx context.Context, q *db.Queries, id, tip string) (current string, err error) {
	live, err := q.LiveTurns(ctx, id)
	if err != nil {
		return "", err
	}
	for _, t := range live {
		if !t.StartedAt.IsZero() {
			return "", &store.BusyError{SessionID: id, TurnID: t.ID}
		}
	}
	if tip == "" {
		return "", nil
	}
	return q.CurrentAgentOf(ctx, db.CurrentAgentOfParams{ID: tip, SessionID: id})
}

// DeleteSession deletes a session with everything that belongs to it.
func (s *Store) DeleteSession(ctx context.Context, scope store.Scope, id string) error {
	err := s.runTransaction(ctx, func(tx pgx.Tx) error {
		q := s.queries.WithTx(tx)
		row, err := q.LockSession(ctx, id)
		if err == nil {
			err = rules.CheckVisible(scope, row.Tenant, row.Subject)
		}
		if err != nil {
			return err
		}
		live, err := q.LiveTurns(ctx, id)
		if err != nil {
			return err
		}
		if len(live) > 0 {
			return &store.BusyError{SessionID: id, TurnID: live[0].ID}
		}
		return deleteSessions(ctx, tx, []string{id})
	})
	return wrapError("delete session", id, err)
}

// deleteSessions deletes sessions without live turns, which are locked.
func deleteSessions(ctx context.Context, tx pgx.Tx, ids []string) error {
	var p pipeline
	q := p.queuedQueries()
	err := errors.Join(
		q.DeleteEventsOf(ctx, ids),
		q.DeleteJournalOf(ctx, ids),
		q.DeleteStatesOf(ctx, ids),
		q.DeleteMessagesOf(ctx, ids),
		q.DeleteKeysOf(ctx, ids),
		q.DeleteSessions(ctx, ids),
	)
	if err != nil {
		return err
	}
	return p.sendQueued(ctx, tx)
}
