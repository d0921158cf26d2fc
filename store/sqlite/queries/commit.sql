-- name: AppendTurn :execrows
-- AppendTurn writes nothing when the turn is not the worker's, or the events do not
-- follow on its latest.
UPDATE turns SET seq = @seq, updated_at = @at WHERE id = @id AND fence = @fence AND status = 'running' AND seq = @before;

-- name: OwnedTurn :one
SELECT made, session_id, tenant, subject, status, fence, seq, steps, strikes, messages, admitted FROM turns WHERE id = ?;

-- name: AdvanceTurn :exec
-- AdvanceTurn changes a turn that its worker goes on with. It returns no row: RETURNING
-- makes SQLite fill a temporary table and save the pages that the statement changes.
UPDATE turns SET seq = @seq, steps = @steps, strikes = @strikes, messages = @messages, updated_at = @at WHERE made = @made;

-- name: LeaveTurn :exec
-- LeaveTurn changes a turn that its worker does not go on with.
UPDATE turns SET status = @status, admitted = @admitted, seq = @seq, steps = @steps, strikes = @strikes, messages = @messages,
    worker = '', lease_until = 0, updated_at = @at, changed_at = @at
WHERE made = @made;

-- name: WriteState :exec
INSERT INTO turn_states (turn_id, body) VALUES (?, ?) ON CONFLICT (turn_id) DO UPDATE SET body = excluded.body;

-- name: DeleteState :exec
DELETE FROM turn_states WHERE turn_id = ?;

-- name: WriteJournal :exec
INSERT INTO journal (turn_id, key, entry, result) VALUES (?, ?, ?, ?)
ON CONFLICT (turn_id, key) DO UPDATE SET entry = excluded.entry, result = excluded.result;

-- name: InsertArtifact :exec
INSERT INTO artifacts (id, session_id, turn_id, tenant, subject, name, media_type, size, created_at, metadata, data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: InsertSnapshot :exec
INSERT INTO snapshots (id, session_id, tenant, subject, parent_id, turn_id, finish_reason, created_at, custom, state, artifacts, agent_id, current_agent_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: InsertInteraction :exec
INSERT INTO interactions (turn_id, id, session_id, tenant, subject, state, action, request, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?)
ON CONFLICT (turn_id, id) DO NOTHING;

-- name: InteractionState :one
SELECT state FROM interactions WHERE turn_id = ? AND id = ?;

-- name: CancelInteractions :exec
UPDATE interactions SET state = 'canceled', resolved_at = ? WHERE turn_id = ? AND state = 'pending';

-- name: Resolve :exec
UPDATE interactions SET state = 'resolved', resolution = ?, resolved_by = ?, resolved_at = ? WHERE n = ?;
