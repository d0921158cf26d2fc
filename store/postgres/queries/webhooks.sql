-- name: SelectWebhooks :many
-- SelectWebhooks is the beginning of the queries whose conditions vary.
SELECT * FROM webhooks;

-- name: GetWebhook :one
SELECT * FROM webhooks WHERE turn_id = $1 AND id = $2;

-- name: CountWebhooks :one
-- CountWebhooks counts the other webhooks of a turn, unless this one is there.
SELECT count(*) FROM webhooks w
WHERE w.turn_id = @turn_id AND NOT EXISTS (SELECT 1 FROM webhooks k WHERE k.turn_id = @turn_id AND k.id = @id);

-- name: SaveWebhook :one
-- SaveWebhook leaves a webhook that is there where it is in the order, and its
-- cursor as it is.
INSERT INTO webhooks (turn_id, id, session_id, tenant, subject, surface, data, state, cursor, due_at, fence, created_at, updated_at)
VALUES (@turn_id, @id, @session_id, @tenant, @subject, @surface, @data, 'active', @cursor, @at, @fence, @at, @at)
ON CONFLICT (turn_id, id) DO UPDATE SET surface = excluded.surface, data = excluded.data, state = 'active', attempts = 0,
    failing_since = NULL, last_error = '', due_at = excluded.due_at, worker = '', fence = webhooks.fence + 1, lease_until = NULL,
    updated_at = excluded.updated_at
RETURNING *;

-- name: DeleteWebhook :execrows
DELETE FROM webhooks
WHERE turn_id = @turn_id AND id = @id AND (@everything::boolean OR tenant = @tenant AND subject = @subject);

-- name: ClaimWebhooks :many
WITH due AS MATERIALIZED (
    SELECT w.turn_id, w.id FROM webhooks w JOIN turns t ON t.id = w.turn_id
    WHERE w.state = 'active' AND w.due_at <= @now AND (w.lease_until IS NULL OR w.lease_until <= clock_timestamp())
        AND w.surface = ANY(@surfaces::text[]) AND w.tenant <> ALL(@not_tenants::text[]) AND (t.seq > w.cursor OR t.finished_at IS NOT NULL)
    ORDER BY w.due_at, w.n LIMIT @most FOR NO KEY UPDATE OF w SKIP LOCKED
)
UPDATE webhooks h SET worker = @worker, fence = h.fence + 1, lease_until = clock_timestamp() + @lease::interval
FROM due WHERE h.turn_id = due.turn_id AND h.id = due.id
RETURNING h.*;

-- name: ClaimWebhooksOf :many
-- ClaimWebhooksOf claims those of one turn, whether there is something to tell or
-- not.
WITH due AS MATERIALIZED (
    SELECT w.turn_id, w.id FROM webhooks w
    WHERE w.turn_id = @turn_id AND w.state = 'active' AND w.due_at <= @now
        AND (w.lease_until IS NULL OR w.lease_until <= clock_timestamp()) AND w.surface = ANY(@surfaces::text[])
        AND w.tenant <> ALL(@not_tenants::text[])
    ORDER BY w.due_at, w.n LIMIT @most FOR NO KEY UPDATE OF w SKIP LOCKED
)
UPDATE webhooks h SET worker = @worker, fence = h.fence + 1, lease_until = clock_timestamp() + @lease::interval
FROM due WHERE h.turn_id = due.turn_id AND h.id = due.id
RETURNING h.*;

-- name: HeartbeatWebhooks :many
WITH held AS MATERIALIZED (
    SELECT h.turn_id, h.id FROM webhooks h
    JOIN (SELECT unnest(@turn_ids::text[]) AS turn_id, unnest(@ids::text[]) AS id, unnest(@fences::bigint[]) AS fence) w
        ON h.turn_id = w.turn_id AND h.id = w.id
    WHERE h.fence = w.fence AND h.worker = @worker
    ORDER BY h.turn_id, h.id FOR NO KEY UPDATE OF h
)
UPDATE webhooks SET lease_until = clock_timestamp() + @lease::interval
FROM held WHERE webhooks.turn_id = held.turn_id AND webhooks.id = held.id
RETURNING webhooks.turn_id, webhooks.id, webhooks.fence;

-- name: AdvanceWebhook :execrows
UPDATE webhooks SET state = @state, cursor = @cursor, attempts = @attempts, failing_since = @failing_since, last_error = @last_error,
    due_at = @due_at, updated_at = @at,
    worker = CASE WHEN @release::boolean THEN '' ELSE worker END,
    lease_until = CASE WHEN @release::boolean THEN NULL ELSE lease_until END
WHERE turn_id = @turn_id AND id = @id AND fence = @fence AND worker <> '';

-- name: DeleteWebhooksOf :exec
DELETE FROM webhooks WHERE turn_id = ANY(@turn_ids::text[]);
