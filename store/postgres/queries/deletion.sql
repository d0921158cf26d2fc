-- name: DeleteEventsOf :exec
DELETE FROM events WHERE turn_id IN (SELECT t.id FROM turns t WHERE t.session_id = ANY(@session_ids::text[]));

-- name: DeleteJournalOf :exec
DELETE FROM journal WHERE turn_id IN (SELECT t.id FROM turns t WHERE t.session_id = ANY(@session_ids::text[]));

-- name: DeleteStatesOf :exec
DELETE FROM turn_states WHERE turn_id IN (SELECT t.id FROM turns t WHERE t.session_id = ANY(@session_ids::text[]));

-- name: DeleteMessagesOf :exec
DELETE FROM messages WHERE owner_id IN (
    SELECT t.id FROM turns t WHERE t.session_id = ANY(@session_ids::text[])
    UNION ALL
    SELECT s.id FROM snapshots s WHERE s.session_id = ANY(@session_ids::text[])
);

-- name: DeleteKeysOf :exec
DELETE FROM idempotency_keys WHERE session_id = ANY(@session_ids::text[]);

-- name: DeleteSessions :exec
-- DeleteSessions deletes with a session what refers to it by a constraint.
DELETE FROM sessions WHERE id = ANY(@session_ids::text[]);

-- name: LockOldSessions :many
SELECT s.id FROM sessions s
WHERE s.active_at < @before AND NOT EXISTS (
    SELECT 1 FROM turns t WHERE t.session_id = s.id AND t.status IN ('pending', 'running', 'waiting')
) AND (s.active_at < @latest OR NOT EXISTS (
    SELECT 1 FROM webhooks w WHERE w.session_id = s.id AND w.state = 'active'
))
ORDER BY s.active_at LIMIT @most FOR UPDATE SKIP LOCKED;

-- name: LiveSessions :many
-- LiveSessions returns those of some sessions that have a live turn.
SELECT DISTINCT session_id FROM turns
WHERE session_id = ANY(@session_ids::text[]) AND status IN ('pending', 'running', 'waiting');

-- name: MarkPruned :many
-- MarkPruned returns turns that ended long ago, and whether they have anything to
-- delete.
UPDATE turns SET pruned = true
WHERE id IN (
    SELECT t.id FROM turns t WHERE t.finished_at < @before AND NOT t.pruned
        AND (t.finished_at < @latest OR NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.turn_id = t.id AND w.state = 'active'))
    ORDER BY t.finished_at LIMIT @most FOR NO KEY UPDATE SKIP LOCKED
)
RETURNING id, (seq > 0 OR EXISTS (SELECT 1 FROM journal j WHERE j.turn_id = turns.id))::boolean AS had;

-- name: DeleteEvents :exec
DELETE FROM events WHERE turn_id = ANY(@turn_ids::text[]);

-- name: DeleteJournal :exec
DELETE FROM journal WHERE turn_id = ANY(@turn_ids::text[]);

-- name: DeleteOldKeys :execrows
DELETE FROM idempotency_keys WHERE (scope, key) IN (
    SELECT k.scope, k.key FROM idempotency_keys k WHERE k.created_at < @before
    ORDER BY k.created_at LIMIT @most
);
