-- name: DeleteEventsOf :exec
DELETE FROM events WHERE turn_id IN (SELECT t.id FROM turns t WHERE t.session_id = ?);

-- name: DeleteJournalOf :exec
DELETE FROM journal WHERE turn_id IN (SELECT t.id FROM turns t WHERE t.session_id = ?);

-- name: DeleteStatesOf :exec
DELETE FROM turn_states WHERE turn_id IN (SELECT t.id FROM turns t WHERE t.session_id = ?);

-- name: DeleteMessagesOf :exec
DELETE FROM messages WHERE owner_id IN (
    SELECT t.id FROM turns t WHERE t.session_id = @session_id
    UNION ALL
    SELECT s.id FROM snapshots s WHERE s.session_id = @session_id
);

-- name: DeleteKeysOf :exec
DELETE FROM idempotency_keys WHERE session_id = ?;

-- name: DeleteSession :exec
-- DeleteSession deletes with a session what refers to it by a constraint.
DELETE FROM sessions WHERE id = ?;

-- name: OldSessions :many
SELECT s.id FROM sessions s
WHERE s.active_at < @before AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id AND t.finished_at = 0)
    AND (s.active_at < @latest OR NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.session_id = s.id AND w.state = 'active'))
ORDER BY s.active_at LIMIT CAST(@most AS INTEGER);

-- name: IsOld :one
SELECT EXISTS (
    SELECT 1 FROM sessions s
    WHERE s.id = @id AND s.active_at < @before AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id AND t.finished_at = 0)
        AND (s.active_at < @latest OR NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.session_id = s.id AND w.state = 'active'))
);

-- name: OldTurns :many
SELECT t.made, t.id FROM turns t WHERE t.finished_at <> 0 AND NOT t.pruned AND t.finished_at < @before
    AND (t.finished_at < @latest OR NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.turn_id = t.id AND w.state = 'active'))
ORDER BY t.finished_at LIMIT CAST(@most AS INTEGER);

-- name: DeleteEvents :exec
DELETE FROM events WHERE turn_id = ?;

-- name: DeleteJournal :exec
DELETE FROM journal WHERE turn_id = ?;

-- name: MarkPruned :exec
UPDATE turns SET pruned = 1 WHERE made = ?;

-- name: DeleteOldKeys :execrows
DELETE FROM idempotency_keys WHERE (scope, key) IN (
    SELECT k.scope, k.key FROM idempotency_keys k WHERE k.created_at < @before ORDER BY k.created_at LIMIT CAST(@most AS INTEGER)
);
