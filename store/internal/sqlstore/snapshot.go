package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// SnapshotColumns are the columns of a snapshot, in the order of SnapshotFields.
const SnapshotColumns = "id, session_id, tenant, subject, parent_id, turn_id, finish_reason, custom, state, artifacts, created_at, agent_id, current_agent_id"

// SnapshotFields returns the scan destinations of a snapshot.
func SnapshotFields(s *store.Snapshot) []any {
	return []any{
		&s.ID, &s.SessionID, &s.Owner.Tenant, &s.Owner.Subject, &s.ParentID, &s.TurnID, &s.FinishReason,
		(*[]byte)(&s.Custom), (*[]byte)(&s.State), (*[]byte)(&s.Artifacts), (*Time)(&s.CreatedAt), &s.AgentID, &s.CurrentAgentID,
	}
}

// Snapshot returns a snapshot.
func (r *sessionRecords) Snapshot(ctx context.Context, scope store.Scope, id string) (*store.Snapshot, error) {
	owner := func(s *store.Snapshot) *store.Owner { return &s.Owner }
	found, err := findVisible(ctx, r.db.Reader, scope, owner, SnapshotFields, "SELECT "+SnapshotColumns+" FROM snapshots WHERE id = $1", id)
	return found, r.db.WrapError("read snapshot", id, err)
}

// Snapshots returns a page of a session's snapshots.
func (r *sessionRecords) Snapshots(ctx context.Context, q store.SnapshotQuery) (page store.SnapshotPage, err error) {
	f := r.dialect.newFilter("SELECT " + SnapshotColumns + " FROM snapshots")
	f.where("session_id = " + f.Arg(q.SessionID))
	f.Scope(q.Scope)
	page.Snapshots, page.Next, err = readLatest(ctx, r.db.Reader, f, "created_at", q.Page, SnapshotFields, asTheyAre, rules.SnapshotCursor)
	return page, r.db.WrapError("list the snapshots of session", q.SessionID, err)
}

// conversation returns the messages of a chain of snapshots.
const conversation = `WITH RECURSIVE chain (parent_id, owner_id, depth) AS (
    SELECT s.parent_id, CASE s.turn_id WHEN '' THEN s.id ELSE s.turn_id END, 0
    FROM snapshots s WHERE s.id = $1
    UNION ALL
    SELECT s.parent_id, CASE s.turn_id WHEN '' THEN s.id ELSE s.turn_id END, chain.depth + 1
    FROM chain JOIN snapshots s ON s.id = chain.parent_id
)
SELECT m.body FROM chain JOIN messages m ON m.owner_id = chain.owner_id
ORDER BY chain.depth DESC, m.n`

// Conversation returns the messages up to and including a snapshot.
func (r *sessionRecords) Conversation(ctx context.Context, snapshotID string) ([][]byte, error) {
	all, err := CollectColumn[[]byte](ctx, r.db.Reader, conversation, snapshotID)
	if err == nil && len(all) == 0 {
		_, err = FindRow(ctx, r.db.Reader, column[string], "SELECT id FROM snapshots WHERE id = $1", snapshotID)
	}
	return all, r.db.WrapError("read the conversation of snapshot", snapshotID, err)
}

// OwnMessages returns the messages that a snapshot or turn adds: those of the snapshot's turn, or
// the snapshot's if no turn created it.
func (r *sessionRecords) OwnMessages(ctx context.Context, ownerID string) ([][]byte, error) {
	own, err := CollectColumn[[]byte](ctx, r.db.Reader, `SELECT body FROM messages
		WHERE owner_id = COALESCE((SELECT s.turn_id FROM snapshots s WHERE s.id = $1 AND s.turn_id <> ''), $1) ORDER BY n`, ownerID)
	return own, r.db.WrapError("read the messages of", ownerID, err)
}

const artifactColumns = "id, session_id, turn_id, tenant, subject, name, media_type, size, metadata, created_at"

func artifactFields(a *store.Artifact) []any {
	return []any{
		&a.ID, &a.SessionID, &a.TurnID, &a.Owner.Tenant, &a.Owner.Subject, &a.Name, &a.MediaType, &a.Size, (*[]byte)(&a.Metadata), (*Time)(&a.CreatedAt),
	}
}

// Artifact returns an artifact with its data.
func (r *sessionRecords) Artifact(ctx context.Context, scope store.Scope, id string) (*store.Artifact, error) {
	fields := func(a *store.Artifact) []any { return append(artifactFields(a), &a.Data) }
	owner := func(a *store.Artifact) *store.Owner { return &a.Owner }
	found, err := findVisible(ctx, r.db.Reader, scope, owner, fields, "SELECT "+artifactColumns+", data FROM artifacts WHERE id = $1", id)
	return found, r.db.WrapError("read artifact", id, err)
}

// Artifacts returns the artifacts that a turn made, in order, without their data.
func (r *sessionRecords) Artifacts(ctx context.Context, scope store.Scope, turnID string) (list []*store.Artifact, err error) {
	_, err = FindTurn(ctx, r.db.Reader, scope, turnID, "")
	if err == nil {
		list, err = CollectRecords(ctx, r.db.Reader, artifactFields, "SELECT "+artifactColumns+" FROM artifacts WHERE turn_id = $1 ORDER BY n", turnID)
	}
	return list, r.db.WrapError("read the artifacts of turn", turnID, err)
}
