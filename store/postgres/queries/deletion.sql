-- name: LiveSessions :many
-- LiveSessions returns those of some sessions that have a live turn.
SELECT DISTINCT session_id FROM turns
WHERE session_id = ANY(@session_ids::text[]) AND status IN ('pending', 'running', 'waiting');
