package postgres

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// Session returns a session.
func (s *Store) Session(ctx context.Context, scope store.Scope, id string) (*store.Session, error) {
	row, err := s.queries.GetSession(ctx, id)
	if err == nil {
		err = visible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, wrap("read session", id, err)
	}
	return sessionOf(&row)
}

// visible returns ErrNotFound for what the scope does not see.
func visible(scope store.Scope, tenant, subject string) error {
	if !scope.Sees(store.Owner{Tenant: tenant, Subject: subject}) {
		return store.ErrNotFound
	}
	return nil
}

// Sessions returns a page of sessions.
func (s *Store) Sessions(ctx context.Context, q store.SessionQuery) (page store.SessionPage, err error) {
	f := filter{query: db.SelectSessions}
	f.scope(q.Scope)
	f.equals("state", string(q.State))
	f.equals("agent_id", q.AgentID)
	for key, value := range q.Labels {
		f.where("EXISTS (SELECT 1 FROM session_labels l WHERE l.session_id = sessions.id AND l.key = " + f.arg(key) + " AND l.value = " + f.arg(value) + ")")
	}
	rows, next, err := latest(ctx, s.pool, &f, "active_at", q.Page, func(r *db.Session) (instant.Time, string) { return r.ActiveAt, r.ID })
	if err != nil {
		return page, wrap("list", "sessions", err)
	}
	page.Next = next
	for i := range rows {
		v, err := sessionOf(&rows[i])
		if err != nil {
			return store.SessionPage{}, err
		}
		page.Sessions = append(page.Sessions, v)
	}
	return page, nil
}

// UpdateSession changes what the patch names.
func (s *Store) UpdateSession(ctx context.Context, scope store.Scope, id string, p store.SessionPatch) (changed *store.Session, err error) {
	if err := p.CheckText(); err != nil {
		return nil, err
	}
	err = s.transact(ctx, func(tx pgx.Tx) error {
		q := s.queries.WithTx(tx)
		row, err := q.LockSession(ctx, id)
		if err == nil {
			err = visible(scope, row.Tenant, row.Subject)
		}
		if err == nil {
			err = patchSession(ctx, q, &row, p)
		}
		if err != nil {
			return err
		}
		err = q.UpdateSession(ctx, db.UpdateSessionParams{
			ID: id, AgentID: row.AgentID, State: row.State, Labels: row.Labels, Metadata: row.Metadata, Tip: row.Tip,
			UpdatedAt: instant.Time(p.Now),
		})
		if err != nil {
			return err
		}
		if row, err = q.GetSession(ctx, id); err != nil {
			return err
		}
		changed, err = sessionOf(&row)
		return err
	})
	return changed, wrap("change session", id, err)
}

// patchSession changes the row of a session that is locked.
func patchSession(ctx context.Context, q *db.Queries, row *db.Session, p store.SessionPatch) error {
	if p.Tip != nil {
		if err := mayMove(ctx, q, row.ID, *p.Tip); err != nil {
			return err
		}
		row.Tip = *p.Tip
	}
	if p.State != nil {
		row.State = string(*p.State)
	}
	if p.Metadata != nil {
		row.Metadata = *p.Metadata
	}
	if p.AgentID != nil {
		row.AgentID = *p.AgentID
	}
	if p.Labels == nil {
		return nil
	}
	text, keys, values, err := labelsOf(*p.Labels)
	if err != nil {
		return err
	}
	row.Labels = text
	return errors.Join(q.DeleteLabels(ctx, row.ID), insertLabels(ctx, q, row.ID, keys, values))
}

// mayMove returns why the tip of a session, which is locked, cannot be moved to
// a snapshot.
func mayMove(ctx context.Context, q *db.Queries, id, tip string) error {
	live, err := q.LiveTurns(ctx, id)
	if err != nil {
		return err
	}
	for _, t := range live {
		if !t.StartedAt.IsZero() {
			return &store.BusyError{SessionID: id, TurnID: t.ID}
		}
	}
	if tip == "" {
		return nil
	}
	there, err := q.SnapshotInSession(ctx, db.SnapshotInSessionParams{ID: tip, SessionID: id})
	if err == nil && !there {
		err = store.ErrNotFound
	}
	return err
}

// DeleteSession deletes a session with everything that belongs to it.
func (s *Store) DeleteSession(ctx context.Context, scope store.Scope, id string) error {
	err := s.transact(ctx, func(tx pgx.Tx) error {
		q := s.queries.WithTx(tx)
		row, err := q.LockSession(ctx, id)
		if err == nil {
			err = visible(scope, row.Tenant, row.Subject)
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
	return wrap("delete session", id, err)
}

// deleteSessions deletes sessions without live turns, which are locked.
func deleteSessions(ctx context.Context, tx pgx.Tx, ids []string) error {
	var p pipeline
	q := p.queries()
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
	return p.send(ctx, tx)
}
