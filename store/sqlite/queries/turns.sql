-- name: InsertTurn :execrows
-- InsertTurn inserts nothing when there is a turn with the id.
INSERT INTO turns (id, session_id, tenant, subject, agent_id, status, background, snapshot_id, parent_snapshot_id, from_start,
    created_at, updated_at, not_before, started_at, worker, fence, lease_until, heartbeat_at, admitted, messages, request, metadata, changed_at, revision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- name: GetTurn :one
SELECT * FROM turns WHERE id = ?;

-- name: TurnExists :one
SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?);

-- name: LiveTurn :one
-- LiveTurn returns the oldest live turn of a session.
SELECT id FROM turns WHERE session_id = ? AND finished_at = 0 ORDER BY made LIMIT 1;

-- name: TurnToClaim :one
-- TurnToClaim returns a turn with its session, and whether a turn of that has begun and
-- not ended.
SELECT sqlc.embed(turns), sqlc.embed(sessions), EXISTS (
    SELECT 1 FROM turns b WHERE b.session_id = turns.session_id AND b.started_at <> 0 AND b.finished_at = 0
) AS begun
FROM turns JOIN sessions ON sessions.id = turns.session_id WHERE turns.id = ?;

-- name: ClaimTurn :exec
UPDATE turns SET status = 'running', admitted = 1, worker = @worker, fence = @fence, lease_until = @lease_until,
    heartbeat_at = @heartbeat_at, started_at = @started_at, parent_snapshot_id = @parent_snapshot_id, revision = @revision, updated_at = @at, changed_at = @at
WHERE made = @made;

-- name: GetState :one
SELECT body FROM turn_states WHERE turn_id = ?;

-- name: Heartbeat :execrows
UPDATE turns SET lease_until = ?, heartbeat_at = ? WHERE id = ? AND fence = ? AND worker = ? AND status = 'running';

-- name: RunningTurns :many
SELECT made, id, not_before, lease_until FROM turns WHERE status = 'running' AND finished_at = 0;

-- name: ReapTurn :exec
UPDATE turns SET status = 'pending', worker = '', lease_until = 0, strikes = strikes + 1, updated_at = @at, changed_at = @at
WHERE made = @made;

-- name: EndTurn :exec
UPDATE turns SET status = @status, result = @result, seq = @seq, fence = @fence, steps = @steps, messages = @messages,
    worker = '', lease_until = 0, admitted = 0, finished_at = @at, updated_at = @at, changed_at = @at
WHERE made = @made;

-- name: TurnToFinish :one
-- TurnToFinish returns what the end of a turn needs to know of it: also whether it has
-- interactions that wait, and whether its session has other live turns.
SELECT made, session_id, tenant, subject, status, fence, seq, steps, messages,
    CAST(EXISTS (SELECT 1 FROM interactions i WHERE i.turn_id = turns.id AND i.state = 'pending') AS BOOLEAN) AS asks,
    CAST(EXISTS (SELECT 1 FROM turns o WHERE o.session_id = turns.session_id AND o.finished_at = 0 AND o.made <> turns.made) AS BOOLEAN) AS followed
FROM turns WHERE turns.id = ?;

-- name: WakeTurn :exec
UPDATE turns SET status = 'pending', updated_at = @at, changed_at = @at WHERE made = @made;
