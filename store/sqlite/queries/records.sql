-- name: EventsAfter :many
SELECT e.seq, e.at, e.type, e.data, CAST(COALESCE(e.path, '') AS TEXT) AS path, t.session_id FROM turns t JOIN events e ON e.turn_id = t.id
WHERE t.id = @turn_id AND e.seq > @after ORDER BY e.seq LIMIT CAST(@most AS INTEGER);

-- name: GetJournal :many
SELECT key, entry, result FROM journal WHERE turn_id = ? ORDER BY n;

-- name: MessagesOf :many
SELECT body FROM messages WHERE owner_id = ? ORDER BY n;

-- name: OwnMessages :many
-- OwnMessages returns the messages of a turn, of the turn that made a snapshot,
-- or of a snapshot that no turn made.
SELECT body FROM messages
WHERE owner_id = COALESCE((SELECT s.turn_id FROM snapshots s WHERE s.id = @id AND s.turn_id <> ''), @id)
ORDER BY n;

-- name: Conversation :many
WITH RECURSIVE chain (parent_id, owner_id, depth) AS (
    SELECT s.parent_id, CASE s.turn_id WHEN '' THEN s.id ELSE s.turn_id END, 0
    FROM snapshots s WHERE s.id = @id
    UNION ALL
    SELECT s.parent_id, CASE s.turn_id WHEN '' THEN s.id ELSE s.turn_id END, chain.depth + 1
    FROM chain JOIN snapshots s ON s.id = chain.parent_id
)
SELECT m.body FROM chain JOIN messages m ON m.owner_id = chain.owner_id
ORDER BY chain.depth DESC, m.n;

-- name: GetSnapshot :one
SELECT * FROM snapshots WHERE id = ?;

-- name: CurrentAgentOf :one
-- CurrentAgentOf returns the current agent of a snapshot of a session.
SELECT current_agent_id FROM snapshots WHERE id = ? AND session_id = ?;

-- name: SnapshotExists :one
SELECT EXISTS (SELECT 1 FROM snapshots WHERE id = ?);

-- name: GetArtifact :one
SELECT * FROM artifacts WHERE id = ?;

-- name: ArtifactsOf :many
SELECT id, session_id, turn_id, tenant, subject, name, media_type, size, created_at, metadata
FROM artifacts WHERE turn_id = ? ORDER BY n;

-- name: GetInteraction :one
SELECT * FROM interactions WHERE turn_id = ? AND id = ?;

-- name: InteractionsOf :many
SELECT * FROM interactions WHERE turn_id = ? ORDER BY n;
