package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// CreateSession stores a new session.
func (s *Store) CreateSession(ctx context.Context, n *store.NewSession) (*store.Session, error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	return runNamed(ctx, s, "create session", n.Session.ID, func(ctx context.Context, tx *tx) (*store.Session, error) {
		return createSession(ctx, tx, n)
	})
}

func createSession(ctx context.Context, tx *tx, n *store.NewSession) (*store.Session, error) {
	place := keysOf(n.Session.Owner)
	known, err := replayKey(ctx, tx, place, n.Key)
	if err != nil {
		return nil, err
	}
	if known != "" {
		made, err := sqlstore.FindSession(ctx, tx, store.Everything, known, "")
		if !errors.Is(err, store.ErrNotFound) {
			return made, err
		}
	}
	made, err := insertSession(ctx, tx, n)
	if err != nil {
		return nil, err
	}
	return made, rememberKey(ctx, tx, place, n.Key, made.ID, made.ID, made.CreatedAt)
}

// insertSession stores a session and returns it as a read would.
func insertSession(ctx context.Context, tx *tx, n *store.NewSession) (*store.Session, error) {
	s := n.Session
	labels, err := sqlstore.EncodeLabels(s.Labels)
	if err != nil {
		return nil, err
	}
	if len(n.Base) > 0 {
		last := &n.Base[len(n.Base)-1].Snapshot
		s.Tip, s.CurrentAgentID = last.ID, last.CurrentAgentID
	}
	s.Labels, s.Metadata = maps.Clone(s.Labels), bytes.Clone(s.Metadata) // the caller keeps its own
	if len(s.Labels) == 0 {
		s.Labels = nil
	}
	for _, at := range []*time.Time{&s.CreatedAt, &s.UpdatedAt, &s.ActiveAt, &s.LastTurnAt} {
		*at = sqlstore.Truncate(*at)
	}
	inserted, err := tx.Exec(ctx, "INSERT INTO sessions ("+sqlstore.SessionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
		s.ID, s.Owner.Tenant, s.Owner.Subject, s.AgentID, string(s.State), labels, []byte(s.Metadata), s.Tip,
		sqlstore.ToMicros(s.CreatedAt), sqlstore.ToMicros(s.UpdatedAt), sqlstore.ToMicros(s.ActiveAt), sqlstore.ToMicros(s.LastTurnAt), s.CurrentAgentID)
	switch {
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
	return &s, insertArtifacts(ctx, tx, n.Artifacts, s.ID, "", s.Owner)
}

// keysOf returns the scope in which an owner's keys are unique.
func keysOf(o store.Owner) string { return "session\x00" + o.Tenant + "\x00" + o.Subject }

// replayKey returns the id of the record that an earlier request with the key created, which may
// have been deleted; empty if none.
func replayKey(ctx context.Context, tx *tx, place string, k store.Key) (string, error) {
	if k.Value == "" {
		return "", nil
	}
	var hash []byte
	var id string
	switch err := tx.on.QueryRowContext(ctx, "SELECT hash, id FROM idempotency_keys WHERE scope = ? AND key = ?", place, k.Value).Scan(&hash, &id); {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", err
	default:
		return id, rules.CheckKey(k, hash, id)
	}
}

// rememberKey stores the record that the request with a key created. It replaces a key whose
// record was deleted.
func rememberKey(ctx context.Context, tx *tx, place string, k store.Key, id, sessionID string, at time.Time) error {
	if k.Value == "" {
		return nil
	}
	_, err := tx.Exec(ctx, "INSERT OR REPLACE INTO idempotency_keys (scope, key, hash, id, session_id, created_at) VALUES (?, ?, ?, ?, ?, ?)",
		place, k.Value, k.Hash, id, sessionID, sqlstore.ToMicros(at))
	return err
}

// putLabels indexes a session by its labels.
func putLabels(ctx context.Context, tx *tx, s *store.Session) error {
	for key, value := range s.Labels {
		if _, err := tx.Exec(ctx, "INSERT INTO session_labels (session_id, key, value) VALUES (?, ?, ?)", s.ID, key, value); err != nil {
			return err
		}
	}
	return nil
}
