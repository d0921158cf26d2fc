-- name: GetWebhook :one
SELECT * FROM webhooks WHERE turn_id = ? AND id = ?;

-- name: CountWebhooks :one
SELECT count(*) FROM webhooks WHERE turn_id = ?;

-- name: InsertWebhook :exec
INSERT INTO webhooks (turn_id, id, session_id, tenant, subject, surface, state, cursor, due_at, fence, created_at, updated_at, data)
VALUES (@turn_id, @id, @session_id, @tenant, @subject, @surface, 'active', @cursor, @at, @at, @at, @at, @data);

-- name: RenewWebhook :exec
UPDATE webhooks SET surface = @surface, data = @data, state = 'active', attempts = 0, failing_since = 0, last_error = '', due_at = @at,
    worker = '', fence = fence + 1, lease_until = 0, updated_at = @at
WHERE n = @n;

-- name: DeleteWebhook :exec
DELETE FROM webhooks WHERE n = ?;

-- name: ClaimWebhook :exec
UPDATE webhooks SET worker = ?, fence = ?, lease_until = ? WHERE n = ?;

-- name: HeartbeatWebhook :execrows
UPDATE webhooks SET lease_until = ? WHERE turn_id = ? AND id = ? AND fence = ? AND worker = ?;

-- name: AdvanceWebhook :exec
UPDATE webhooks SET state = ?, cursor = ?, attempts = ?, failing_since = ?, last_error = ?, due_at = ?, worker = ?, lease_until = ?, updated_at = ?
WHERE n = ?;

-- name: DeleteWebhooksOf :exec
DELETE FROM webhooks WHERE turn_id = ?;
