-- name: InsertSession :execrows
-- InsertSession inserts nothing when there is a session with the id.
INSERT INTO sessions (id, tenant, subject, agent_id, state, labels, metadata, tip, created_at, updated_at, active_at, last_turn_at, current_agent_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- name: InsertLabel :exec
INSERT INTO session_labels (session_id, key, value) VALUES (?, ?, ?);

-- name: GetSession :one
SELECT * FROM sessions WHERE id = ?;

-- name: SessionForTurn :one
-- SessionForTurn returns a session, and whether it has a turn whose time it is.
SELECT sqlc.embed(sessions), EXISTS (
    SELECT 1 FROM turns t WHERE t.session_id = sessions.id AND t.finished_at = 0 AND (t.started_at <> 0 OR t.not_before <= @now OR t.admitted)
) AS occupied
FROM sessions WHERE sessions.id = @id;

-- name: TouchSession :exec
-- TouchSession notes that a session was given a turn.
UPDATE sessions SET active_at = max(active_at, CAST(@at AS INTEGER)), last_turn_at = max(last_turn_at, CAST(@at AS INTEGER)) WHERE id = @id;

-- name: RestSession :exec
-- RestSession notes that a turn of a session has ended.
UPDATE sessions SET active_at = max(active_at, CAST(@at AS INTEGER)) WHERE id = @id;

-- name: MoveTip :exec
-- MoveTip notes that a turn of a session has ended with a snapshot.
UPDATE sessions SET tip = @tip, current_agent_id = @current_agent_id, updated_at = CAST(@at AS INTEGER), active_at = max(active_at, CAST(@at AS INTEGER)) WHERE id = @id;

-- name: PutKey :exec
-- PutKey replaces a key whose record is gone.
INSERT OR REPLACE INTO idempotency_keys (scope, key, hash, id, session_id, created_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: GetKey :one
SELECT hash, id FROM idempotency_keys WHERE scope = ? AND key = ?;
