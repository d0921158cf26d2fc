package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// CreateSession stores a new session.
func (s *Store) CreateSession(ctx context.Context, n *store.NewSession) (made *store.Session, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		made, err = createSession(ctx, tx, n)
		return err
	})
	if err != nil {
		return nil, wrapError("create session", n.Session.ID, err)
	}
	return made, nil
}

func createSession(ctx context.Context, tx *tx, n *store.NewSession) (*store.Session, error) {
	place := keysOf(n.Session.Owner)
	known, err := replayKey(ctx, tx, place, n.Key)
	if err != nil {
		return nil, err
	}
	if known != "" {
		made, err := getSession(ctx, tx.Queries, store.Everything, known)
		if !errors.Is(err, sql.ErrNoRows) {
			return made, err
		}
	}
	row, err := insertSession(ctx, tx, n)
	if err != nil {
		return nil, err
	}
	if err := rememberKey(ctx, tx, place, n.Key, n.Session.ID, n.Session.ID, n.Session.CreatedAt); err != nil {
		return nil, err
	}
	row.Metadata = bytes.Clone(row.Metadata) // the caller keeps its own
	return sessionOf(row)
}

// insertSession stores a session, and returns the row.
func insertSession(ctx context.Context, tx *tx, n *store.NewSession) (*db.Session, error) {
	s := n.Session
	labels, err := sqlstore.EncodeLabels(s.Labels)
	if err != nil {
		return nil, err
	}
	if len(n.Base) > 0 {
		last := &n.Base[len(n.Base)-1].Snapshot
		s.Tip, s.CurrentAgentID = last.ID, last.CurrentAgentID
	}
	row := db.Session{
		ID: s.ID, Tenant: s.Owner.Tenant, Subject: s.Owner.Subject, AgentID: s.AgentID, State: string(s.State),
		Labels: labels, Metadata: s.Metadata, Tip: s.Tip,
		CreatedAt: sqlstore.ToMicros(s.CreatedAt), UpdatedAt: sqlstore.ToMicros(s.UpdatedAt), ActiveAt: sqlstore.ToMicros(s.ActiveAt), LastTurnAt: sqlstore.ToMicros(s.LastTurnAt),
		CurrentAgentID: s.CurrentAgentID,
	}
	switch inserted, err := tx.InsertSession(ctx, db.InsertSessionParams(row)); {
	case err != nil:
		return nil, err
	case inserted == 0:
		return nil, &store.ExistsError{Kind: "session", ID: s.ID}
	}
	if err := putLabels(ctx, tx, &s); err != nil {
		return nil, err
	}
	for i := range n.Base {
		b := &n.Base[i]
		if err := insertSnapshot(ctx, tx, &b.Snapshot, s.ID, "", s.Owner); err != nil {
			return nil, err
		}
		if err := insertMessages(ctx, tx, b.Snapshot.ID, 0, b.Messages); err != nil {
			return nil, err
		}
	}
	return &row, insertArtifacts(ctx, tx, n.Artifacts, s.ID, "", s.Owner)
}

// keysOf returns the place in which the keys of an owner are unique.
func keysOf(o store.Owner) string { return "session\x00" + o.Tenant + "\x00" + o.Subject }

// replayKey returns the id of what the request with a key made before; empty for
// nothing. What it made may be gone.
func replayKey(ctx context.Context, tx *tx, place string, k store.Key) (string, error) {
	if k.Value == "" {
		return "", nil
	}
	row, err := tx.GetKey(ctx, db.GetKeyParams{Scope: place, Key: k.Value})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", err
	default:
		return row.ID, rules.CheckKey(k, row.Hash, row.ID)
	}
}

// rememberKey keeps what the request with a key made.
func rememberKey(ctx context.Context, tx *tx, place string, k store.Key, id, sessionID string, at time.Time) error {
	if k.Value == "" {
		return nil
	}
	return tx.PutKey(ctx, db.PutKeyParams{Scope: place, Key: k.Value, Hash: k.Hash, ID: id, SessionID: sessionID, CreatedAt: sqlstore.ToMicros(at)})
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

// putLabels makes a session be found by its labels.
func putLabels(ctx context.Context, tx *tx, s *store.Session) error {
	for key, value := range s.Labels {
		if err := tx.InsertLabel(ctx, db.InsertLabelParams{SessionID: s.ID, Key: key, Value: value}); err != nil {
			return err
		}
	}
	return nil
}
