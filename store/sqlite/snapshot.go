package sqlite

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Snapshot returns a snapshot.
func (s *Store) Snapshot(ctx context.Context, scope store.Scope, id string) (*store.Snapshot, error) {
	row, err := s.queries.GetSnapshot(ctx, id)
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, wrapError("read snapshot", id, err)
	}
	return snapshotOf(&row), nil
}

// Snapshots returns a page of a session's snapshots.
func (s *Store) Snapshots(ctx context.Context, q store.SnapshotQuery) (out store.SnapshotPage, err error) {
	f := dialect.Select("SELECT id, session_id, tenant, subject, parent_id, turn_id, finish_reason, created_at, custom, state, artifacts, agent_id, current_agent_id FROM snapshots")
	f.Snapshots(&q)
	out.Snapshots, out.Next, err = sqlstore.Latest(f, "created_at", q.Page, rules.SnapshotCursor, readRecords(ctx, s.read, func(r *db.Snapshot) []any {
		return []any{&r.ID, &r.SessionID, &r.Tenant, &r.Subject, &r.ParentID, &r.TurnID, &r.FinishReason, &r.CreatedAt, &r.Custom, &r.State, &r.Artifacts, &r.AgentID, &r.CurrentAgentID}
	}, snapshotOf))
	return out, wrapError("list the snapshots of session", q.SessionID, err)
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
	return all, wrapError("read the conversation of snapshot", snapshotID, err)
}

// OwnMessages returns the messages that a snapshot, or a turn, adds itself.
func (s *Store) OwnMessages(ctx context.Context, ownerID string) ([][]byte, error) {
	own, err := s.queries.OwnMessages(ctx, ownerID)
	return own, wrapError("read the messages of", ownerID, err)
}
