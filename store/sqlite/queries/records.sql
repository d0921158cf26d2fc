-- name: GetJournal :many
SELECT key, entry, result FROM journal WHERE turn_id = ? ORDER BY n;

-- name: MessagesOf :many
SELECT body FROM messages WHERE owner_id = ? ORDER BY n;

-- name: GetSnapshot :one
SELECT * FROM snapshots WHERE id = ?;

-- name: GetInteraction :one
SELECT * FROM interactions WHERE turn_id = ? AND id = ?;

-- name: InteractionsOf :many
SELECT * FROM interactions WHERE turn_id = ? ORDER BY n;
