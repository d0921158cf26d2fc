package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Session returns a session.
func (s *Store) Session(ctx context.Context, scope store.Scope, id string) (*store.Session, error) {
	found, err := getSession(ctx, s.queries, scope, id)
	return found, wrapError("read session", id, err)
}

// getSession returns a session that the scope sees.
func getSession(ctx context.Context, q *db.Queries, scope store.Scope, id string) (*store.Session, error) {
	row, err := q.GetSession(ctx, id)
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, err
	}
	return sessionOf(&row)
}

// UpdateSession changes what the patch names.
func (s *Store) UpdateSession(ctx context.Context, scope store.Scope, id string, p store.SessionPatch) (changed *store.Session, err error) {
	if err := p.CheckText(); err != nil {
		return nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		kept, err := getSession(ctx, tx.Queries, scope, id)
		if err != nil {
			return err
		}
		current := ""
		if p.Tip != nil {
			if current, err = checkTip(ctx, tx, id, *p.Tip); err != nil {
				return err
			}
		}
		rules.PatchSession(kept, &p, current)
		if err := putSession(ctx, tx, kept, p.Labels != nil); err != nil {
			return err
		}
		changed, err = getSession(ctx, tx.Queries, scope, id)
		return err
	})
	if err != nil {
		return nil, wrapError("change session", id, err)
	}
	return changed, nil
}

// checkIdle returns a *store.BusyError when a session has a turn that find finds.
func checkIdle(ctx context.Context, find func(context.Context, string) (string, error), sessionID string) error {
	switch turn, err := find(ctx, sessionID); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	default:
		return &store.BusyError{SessionID: sessionID, TurnID: turn}
	}
}

// checkTip returns the current agent of a snapshot to which the tip of a session may be
// moved.
func checkTip(ctx context.Context, tx *tx, id, tip string) (current string, err error) {
	if err := checkIdle(ctx, tx.StartedTurn, id); err != nil || tip == "" {
		return "", err
	}
	return tx.CurrentAgentOf(ctx, db.CurrentAgentOfParams{ID: tip, SessionID: id})
}

// putSession writes a session that was changed.
func putSession(ctx context.Context, tx *tx, s *store.Session, labels bool) error {
	text, err := sqlstore.EncodeLabels(s.Labels)
	if err != nil {
		return err
	}
	err = tx.UpdateSession(ctx, db.UpdateSessionParams{
		AgentID: s.AgentID, State: string(s.State), Labels: text, Metadata: s.Metadata, Tip: s.Tip, UpdatedAt: toMicros(s.UpdatedAt), ID: s.ID,
		CurrentAgentID: s.CurrentAgentID,
	})
	if err != nil || !labels {
		return err
	}
	if err := tx.DeleteLabels(ctx, s.ID); err != nil {
		return err
	}
	return putLabels(ctx, tx, s)
}

// putLabels makes a session be found by its labels.
func putLabels(ctx context.Context, tx *tx, s *store.Session) error {
	for key, value := range s.Labels {
		if err := tx.InsertLabel(ctx, db.InsertLabelParams{SessionID: s.ID, Key: key, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

// DeleteSession deletes a session with everything that belongs to it.
func (s *Store) DeleteSession(ctx context.Context, scope store.Scope, id string) error {
	err := s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		if _, err := getSession(ctx, tx.Queries, scope, id); err != nil {
			return err
		}
		if err := checkIdle(ctx, tx.LiveTurn, id); err != nil {
			return err
		}
		return deleteSession(ctx, tx, id)
	})
	return wrapError("delete session", id, err)
}

// deleteSession deletes a session with everything that belongs to it.
func deleteSession(ctx context.Context, tx *tx, id string) error {
	for _, remove := range []func(context.Context, string) error{
		tx.DeleteEventsOf, tx.DeleteJournalOf, tx.DeleteStatesOf, tx.DeleteMessagesOf, tx.DeleteKeysOf, tx.DeleteSession,
	} {
		if err := remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
