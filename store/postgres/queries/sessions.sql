-- name: InsertSessions :many
INSERT INTO sessions (id, tenant, subject, agent_id, state, labels, metadata, tip, created_at, updated_at, active_at, last_turn_at, current_agent_id)
SELECT unnest(@ids::text[]), unnest(@tenants::text[]), unnest(@subjects::text[]), unnest(@agent_ids::text[]), unnest(@states::text[]),
    unnest(@labels::json[]), unnest(@metadatas::bytea[]), unnest(@tips::text[]), unnest(@created_ats::timestamptz[]), unnest(@updated_ats::timestamptz[]),
    unnest(@active_ats::timestamptz[]), unnest(@last_turn_ats::timestamptz[]), unnest(@current_agent_ids::text[])
RETURNING *;

-- name: InsertLabels :exec
INSERT INTO session_labels (session_id, key, value)
SELECT @session_id, unnest(@keys::text[]), unnest(@values::text[]);

-- name: GetSession :one
SELECT * FROM sessions WHERE id = $1;

-- name: LockSession :one
SELECT * FROM sessions WHERE id = $1 FOR NO KEY UPDATE;

-- name: LockSessionOfTurn :one
SELECT * FROM sessions
WHERE id = (SELECT t.session_id FROM turns t WHERE t.id = @turn_id) FOR NO KEY UPDATE;

-- name: LockSessionsOfTurns :exec
SELECT id FROM sessions
WHERE id IN (SELECT t.session_id FROM turns t WHERE t.id = ANY(@turn_ids::text[])) ORDER BY id FOR NO KEY UPDATE;

-- name: TouchSession :one
-- TouchSession notes that a session is given a turn, and locks it like LockSession.
UPDATE sessions SET active_at = greatest(active_at, @at), last_turn_at = greatest(last_turn_at, @at) WHERE id = @id
RETURNING *;

-- name: LockFreeSessions :many
-- LockFreeSessions locks those of the sessions that nobody else has locked.
SELECT * FROM sessions WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED;

-- name: TouchSessions :exec
-- TouchSessions is TouchSession for sessions that are locked.
UPDATE sessions s SET active_at = greatest(s.active_at, w.at), last_turn_at = greatest(s.last_turn_at, w.at)
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@ats::timestamptz[]) AS at) w
WHERE s.id = w.id;

-- name: EndedInSessions :exec
-- EndedInSessions notes the end of turns, and the snapshots that they left.
UPDATE sessions s SET tip = COALESCE(NULLIF(w.tip, ''), s.tip), active_at = greatest(s.active_at, w.at),
    current_agent_id = CASE w.tip WHEN '' THEN s.current_agent_id ELSE w.current_agent_id END
FROM (
    SELECT unnest(@ids::text[]) AS id, unnest(@tips::text[]) AS tip, unnest(@current_agent_ids::text[]) AS current_agent_id, unnest(@ats::timestamptz[]) AS at
) w
WHERE s.id = w.id;

-- name: LiveTurns :many
-- LiveTurns returns the live turns of a session, the oldest first.
SELECT id, started_at, not_before, admitted FROM turns
WHERE session_id = $1 AND status IN ('pending', 'running', 'waiting') ORDER BY made;

-- name: TurnExists :one
SELECT EXISTS (SELECT 1 FROM turns WHERE id = $1);

-- name: InsertKey :execrows
INSERT INTO idempotency_keys (scope, key, hash, id, session_id, created_at)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (scope, key) DO NOTHING;

-- name: GetKey :one
SELECT hash, id FROM idempotency_keys WHERE scope = $1 AND key = $2;

-- name: LockSessions :exec
SELECT id FROM sessions WHERE id = ANY(@ids::text[]) ORDER BY id FOR NO KEY UPDATE;

-- name: PutKey :exec
INSERT INTO idempotency_keys (scope, key, hash, id, session_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (scope, key) DO UPDATE SET hash = excluded.hash, id = excluded.id, created_at = excluded.created_at;

-- name: TurnOfKey :one
SELECT t.* FROM turns t JOIN idempotency_keys k ON k.id = t.id WHERE k.scope = $1 AND k.key = $2;
