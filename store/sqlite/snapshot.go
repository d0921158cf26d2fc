package sqlite

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Snapshot returns a snapshot.
func (s *Store) Snapshot(ctx context.Context, scope store.Scope, id string) (*store.Snapshot, error) {
	row, err := s.queries.GetSnapshot(ctx, id)
	if err == nil && !scope.Sees(store.Owner{Tenant: row.Tenant, Subject: row.Subject}) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, wrap("read snapshot", id, err)
	}
	return snapshotOf(&row), nil
}

// Snapshots returns a page of a session's snapshots.
func (s *Store) Snapshots(ctx context.Context, q store.SnapshotQuery) (out store.SnapshotPage, err error) {
	f := &filter{query: "SELECT id, session_id, tenant, subject, parent_id, turn_id, finish_reason, created_at, custom, state, artifacts FROM snapshots"}
	f.where("session_id = ?", q.SessionID)
	f.scope(q.Scope)
	rows, next, err := latest(ctx, s.read, f, "created_at", q.Page, func(r *db.Snapshot) []any {
		return []any{&r.ID, &r.SessionID, &r.Tenant, &r.Subject, &r.ParentID, &r.TurnID, &r.FinishReason, &r.CreatedAt, &r.Custom, &r.State, &r.Artifacts}
	}, func(r *db.Snapshot) (int64, string) { return r.CreatedAt, r.ID })
	if err != nil {
		return out, wrap("list the snapshots of session", q.SessionID, err)
	}
	out.Next = next
	for i := range rows {
		out.Snapshots = append(out.Snapshots, snapshotOf(&rows[i]))
	}
	return out, nil
}

// Conversation returns the messages up to and with a snapshot.
func (s *Store) Conversation(ctx context.Context, snapshotID string) ([][]byte, error) {
	all, err := s.queries.Conversation(ctx, snapshotID)
	if err == nil && len(all) == 0 {
		var known bool
		if known, err = s.queries.SnapshotExists(ctx, snapshotID); err == nil && !known {
			err = store.ErrNotFound
		}
	}
	return all, wrap("read the conversation of snapshot", snapshotID, err)
}

// OwnMessages returns the messages that a snapshot, or a turn, adds itself.
func (s *Store) OwnMessages(ctx context.Context, ownerID string) ([][]byte, error) {
	own, err := s.queries.OwnMessages(ctx, ownerID)
	return own, wrap("read the messages of", ownerID, err)
}
