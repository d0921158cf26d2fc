-- name: InsertTurn :one
-- InsertTurn stores a pending turn, or with a worker one that is claimed.
INSERT INTO turns (id, session_id, tenant, subject, agent_id, status, request, metadata, background,
    snapshot_id, parent_snapshot_id, from_start, created_at, updated_at, changed_at, not_before, admitted, messages,
    worker, fence, revision, started_at, lease_until, heartbeat_at)
VALUES ($1, $2, $3, $4, $5, CASE $16::text WHEN '' THEN 'pending' ELSE 'running' END, $6, $7, $8,
    $9, $10, $11, $12, COALESCE($18::timestamptz, $12), COALESCE($18::timestamptz, $12), $13, $14, $15,
    $16::text, CASE $16::text WHEN '' THEN 0 ELSE 1 END, $17, $18::timestamptz,
    CASE WHEN $16::text <> '' THEN clock_timestamp() + $19::interval END, CASE WHEN $16::text <> '' THEN clock_timestamp() END)
RETURNING *;

-- name: StartTurns :many
-- StartTurns stores turns that are claimed by a worker. Leases are in microseconds.
INSERT INTO turns (id, session_id, tenant, subject, agent_id, status, request, metadata, background,
    snapshot_id, parent_snapshot_id, from_start, created_at, updated_at, changed_at, admitted, messages,
    worker, fence, revision, started_at, lease_until, heartbeat_at)
SELECT w.id, w.session_id, w.tenant, w.subject, w.agent_id, 'running', w.request, w.metadata, w.background,
    w.snapshot_id, w.parent_snapshot_id, w.from_start, w.created_at, w.at, w.at, true, w.messages,
    w.worker, 1, w.revision, w.at, clock_timestamp() + w.lease * interval '1 microsecond', clock_timestamp()
FROM (
    SELECT unnest($1::text[]) AS id, unnest($2::text[]) AS session_id, unnest($3::text[]) AS tenant, unnest($4::text[]) AS subject,
        unnest($5::text[]) AS agent_id, unnest($6::bytea[]) AS request, unnest($7::bytea[]) AS metadata, unnest($8::boolean[]) AS background,
        unnest($9::text[]) AS snapshot_id, unnest($10::text[]) AS parent_snapshot_id, unnest($11::boolean[]) AS from_start,
        unnest($12::timestamptz[]) AS created_at, unnest($13::timestamptz[]) AS at, unnest($14::int[]) AS messages,
        unnest($15::text[]) AS worker, unnest($16::text[]) AS revision, unnest($17::bigint[]) AS lease
) w
RETURNING *;

-- name: LockTurn :one
SELECT * FROM turns WHERE id = $1 FOR NO KEY UPDATE;

-- name: ClaimTurn :one
-- ClaimTurn has no row for a turn that cannot be claimed now.
UPDATE turns t SET status = 'running', worker = @worker, fence = t.fence + 1,
    lease_until = clock_timestamp() + @lease::interval, heartbeat_at = clock_timestamp(),
    parent_snapshot_id = CASE
        WHEN t.started_at IS NULL AND t.parent_snapshot_id = '' AND NOT t.from_start THEN s.tip
        ELSE t.parent_snapshot_id END,
    started_at = COALESCE(t.started_at, @now), revision = CASE t.revision WHEN '' THEN @revision ELSE t.revision END,
    updated_at = @now, changed_at = @now
FROM sessions s
WHERE t.id = @id AND s.id = t.session_id AND t.status = 'pending' AND t.admitted
    AND NOT EXISTS (
        SELECT 1 FROM turns o WHERE o.session_id = t.session_id AND o.id <> t.id
            AND o.started_at IS NOT NULL AND o.status IN ('pending', 'running', 'waiting')
    )
RETURNING t.*;

-- name: GetState :one
SELECT body FROM turn_states WHERE turn_id = $1;

-- name: Heartbeat :many
WITH held AS MATERIALIZED (
    SELECT t.id FROM turns t
    JOIN (SELECT unnest(@ids::text[]) AS id, unnest(@fences::bigint[]) AS fence) w ON t.id = w.id
    WHERE t.fence = w.fence AND t.worker = @worker AND t.status = 'running'
    ORDER BY t.id FOR NO KEY UPDATE OF t
)
UPDATE turns SET lease_until = clock_timestamp() + @lease::interval, heartbeat_at = clock_timestamp()
FROM held WHERE turns.id = held.id
RETURNING turns.id;

-- name: ReapTurns :many
UPDATE turns SET status = 'pending', worker = '', lease_until = NULL, strikes = strikes + 1, updated_at = @now, changed_at = @now
WHERE id IN (
    SELECT t.id FROM turns t WHERE t.status = 'running' AND t.lease_until < clock_timestamp()
    ORDER BY t.id LIMIT @most FOR NO KEY UPDATE SKIP LOCKED
)
RETURNING id;

-- name: RequeueTurns :many
-- RequeueTurns returns turns that were admitted long ago and that nobody claimed:
-- their jobs may be lost.
UPDATE turns SET updated_at = @now
WHERE id IN (
    SELECT t.id FROM turns t WHERE t.admitted AND t.status = 'pending' AND t.updated_at < @before
    ORDER BY t.id LIMIT @most FOR NO KEY UPDATE SKIP LOCKED
)
RETURNING id;

-- name: QueuedAfter :many
-- QueuedAfter returns the turns that have a job, or should have one, by id: those
-- that are admitted, and those that are not due.
SELECT id, not_before, admitted FROM turns
WHERE status = 'pending' AND (admitted OR not_before > @now) AND id > @after ORDER BY id LIMIT @most;
