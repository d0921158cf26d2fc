-- name: EventsAfter :many
SELECT seq, session_id, at, type, data, COALESCE(path, '')::text AS path FROM events
WHERE turn_id = @turn_id AND seq > @after ORDER BY seq LIMIT @most;

-- name: GetJournal :many
SELECT key, entry, result FROM journal WHERE turn_id = $1 ORDER BY n;

-- name: MessagesOf :many
SELECT body FROM messages WHERE owner_id = $1 ORDER BY n;

-- name: OwnMessages :many
-- OwnMessages returns the messages of a turn, of the turn that made a snapshot,
-- or of a snapshot that no turn made.
SELECT body FROM messages
WHERE owner_id = COALESCE((SELECT s.turn_id FROM snapshots s WHERE s.id = @id AND s.turn_id <> ''), @id)
ORDER BY n;

-- name: Conversation :many
WITH RECURSIVE chain AS (
    SELECT s.parent_id, CASE s.turn_id WHEN '' THEN s.id ELSE s.turn_id END AS owner_id, 0 AS depth
    FROM snapshots s WHERE s.id = @id
    UNION ALL
    SELECT s.parent_id, CASE s.turn_id WHEN '' THEN s.id ELSE s.turn_id END, chain.depth + 1
    FROM chain JOIN snapshots s ON s.id = chain.parent_id
)
SELECT m.body FROM chain JOIN messages m ON m.owner_id = chain.owner_id
ORDER BY chain.depth DESC, m.n;

-- name: SelectSnapshots :many
-- SelectSnapshots is the beginning of the queries whose conditions vary.
SELECT * FROM snapshots;

-- name: GetSnapshot :one
SELECT * FROM snapshots WHERE id = $1;

-- name: GetSnapshots :many
SELECT * FROM snapshots WHERE id = ANY($1::text[]);

-- name: ParentSnapshot :one
SELECT s.* FROM snapshots s JOIN turns t ON s.id = t.parent_snapshot_id WHERE t.id = @turn_id;

-- name: GetArtifact :one
SELECT * FROM artifacts WHERE id = $1;

-- name: ArtifactsOf :many
SELECT id, session_id, turn_id, tenant, subject, name, media_type, size, metadata, created_at
FROM artifacts WHERE turn_id = $1 ORDER BY n;

-- name: SelectInteractions :many
-- SelectInteractions is the beginning of the queries whose conditions vary.
SELECT * FROM interactions;

-- name: GetInteraction :one
SELECT * FROM interactions WHERE turn_id = $1 AND id = $2;

-- name: InteractionsOf :many
SELECT * FROM interactions WHERE turn_id = $1 ORDER BY n;

-- name: Resolve :one
UPDATE interactions SET state = 'resolved', resolution = @resolution, resolved_by = @by, resolved_at = @at
WHERE turn_id = @turn_id AND id = @id
RETURNING *;
