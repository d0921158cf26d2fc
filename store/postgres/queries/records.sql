-- name: GetJournal :many
SELECT key, entry, result FROM journal WHERE turn_id = $1 ORDER BY n;

-- name: MessagesOf :many
SELECT body FROM messages WHERE owner_id = $1 ORDER BY n;

-- name: GetSnapshot :one
SELECT * FROM snapshots WHERE id = $1;

-- name: GetSnapshots :many
SELECT * FROM snapshots WHERE id = ANY($1::text[]);

-- name: ParentSnapshot :one
SELECT s.* FROM snapshots s JOIN turns t ON s.id = t.parent_snapshot_id WHERE t.id = @turn_id;

-- name: InteractionsOf :many
SELECT * FROM interactions WHERE turn_id = $1 ORDER BY n;
