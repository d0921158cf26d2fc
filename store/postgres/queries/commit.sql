-- name: CommitTokens :many
-- CommitTokens returns what the latest commits left in the rows of turns. It
-- waits for a transaction that has locked them, such as one whose connection
-- nobody misses yet.
SELECT last_commit FROM turns WHERE id = ANY(@ids::text[]) ORDER BY id FOR NO KEY UPDATE;

-- name: LockTurns :many
-- Rows are locked in the order of their ids, so that replicas do not wait for
-- each other in a circle.
SELECT id, session_id, tenant, subject, status, fence, seq, steps, strikes, messages, admitted, agent_id, started_at
FROM turns WHERE id = ANY(@ids::text[]) ORDER BY id FOR NO KEY UPDATE;

-- name: WriteTurns :exec
UPDATE turns t SET status = w.status, seq = w.seq, steps = w.steps, strikes = w.strikes, messages = w.messages,
    admitted = w.admitted, updated_at = w.at, last_commit = @token::text,
    changed_at = CASE w.status WHEN t.status THEN t.changed_at ELSE w.at END,
    worker = CASE w.status WHEN 'running' THEN t.worker ELSE '' END,
    lease_until = CASE w.status WHEN 'running' THEN t.lease_until END,
    result = CASE WHEN w.ended THEN w.result ELSE t.result END, finished_at = CASE WHEN w.ended THEN w.at ELSE t.finished_at END
FROM (
    SELECT unnest(@ids::text[]) AS id, unnest(@statuses::text[]) AS status, unnest(@seqs::bigint[]) AS seq,
        unnest(@steps::int[]) AS steps, unnest(@strikes::int[]) AS strikes, unnest(@messages::int[]) AS messages,
        unnest(@admitted::boolean[]) AS admitted, unnest(@ats::timestamptz[]) AS at,
        unnest(@ended::boolean[]) AS ended, unnest(@results::bytea[]) AS result
) w
WHERE t.id = w.id;

-- name: WriteStates :exec
INSERT INTO turn_states (turn_id, body)
SELECT unnest(@turn_ids::text[]), unnest(@bodies::bytea[])
ON CONFLICT (turn_id) DO UPDATE SET body = excluded.body;

-- name: DeleteStates :exec
DELETE FROM turn_states WHERE turn_id = ANY(@turn_ids::text[]);

-- name: InsertEvents :exec
-- Paths may be shorter than the others: what is missing becomes NULL.
INSERT INTO events (turn_id, seq, session_id, at, type, data, path)
SELECT unnest(@turn_ids::text[]), unnest(@seqs::bigint[]), unnest(@session_ids::text[]),
    unnest(@ats::timestamptz[]), unnest(@types::text[]), unnest(@data::bytea[]), unnest(@paths::text[]);

-- name: InsertMessages :exec
INSERT INTO messages (owner_id, n, body)
SELECT unnest(@owner_ids::text[]), unnest(@ns::int[]), unnest(@bodies::bytea[]);

-- name: WriteJournal :exec
INSERT INTO journal (turn_id, key, entry, result)
SELECT unnest(@turn_ids::text[]), unnest(@keys::text[]), unnest(@entries::bytea[]), unnest(@results::bytea[])
ON CONFLICT (turn_id, key) DO UPDATE SET entry = excluded.entry, result = excluded.result;

-- name: InsertArtifact :exec
INSERT INTO artifacts (id, session_id, turn_id, tenant, subject, name, media_type, size, metadata, data, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: InsertSnapshot :exec
INSERT INTO snapshots (id, session_id, tenant, subject, parent_id, turn_id, finish_reason, custom, state, artifacts, created_at, agent_id, current_agent_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: InsertSnapshots :exec
INSERT INTO snapshots (id, session_id, tenant, subject, parent_id, turn_id, finish_reason, custom, state, artifacts, created_at, agent_id, current_agent_id)
SELECT unnest(@ids::text[]), unnest(@session_ids::text[]), unnest(@tenants::text[]), unnest(@subjects::text[]), unnest(@parent_ids::text[]),
    unnest(@turn_ids::text[]), unnest(@finish_reasons::text[]), unnest(@customs::bytea[]), unnest(@states::bytea[]),
    unnest(@artifacts::bytea[]), unnest(@created_ats::timestamptz[]), unnest(@agent_ids::text[]), unnest(@current_agent_ids::text[]);

-- name: InsertInteraction :exec
INSERT INTO interactions (turn_id, id, session_id, tenant, subject, state, action, request, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7, $8, $9)
ON CONFLICT (turn_id, id) DO NOTHING;

-- name: AnsweredInteractions :many
SELECT turn_id, id FROM interactions WHERE turn_id = ANY(@turn_ids::text[]) AND state <> 'pending';

-- name: CancelInteractions :exec
UPDATE interactions i SET state = 'canceled', resolved_at = t.finished_at
FROM turns t WHERE t.id = i.turn_id AND i.turn_id = ANY(@turn_ids::text[]) AND i.state = 'pending';

-- name: AddUsage :exec
-- AddUsage adds counts to rows of usage, which are sorted so that replicas do not wait for each
-- other in a circle.
INSERT INTO usage_hours (hour, tenant, agent_id, model_id, currency, bucket, shard,
    turns, failed, canceled, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost)
SELECT unnest(@hours::bigint[]), unnest(@tenants::text[]), unnest(@agent_ids::text[]), unnest(@model_ids::text[]), unnest(@currencies::text[]),
    unnest(@buckets::bigint[]), @shard::bigint, unnest(@turns::bigint[]), unnest(@failed::bigint[]), unnest(@canceled::bigint[]),
    unnest(@input_tokens::bigint[]), unnest(@output_tokens::bigint[]), unnest(@cache_read_tokens::bigint[]), unnest(@cache_write_tokens::bigint[]),
    unnest(@reasoning_tokens::bigint[]), unnest(@costs::double precision[])
ON CONFLICT (hour, tenant, agent_id, model_id, currency, bucket, shard) DO UPDATE SET
    turns = usage_hours.turns + excluded.turns, failed = usage_hours.failed + excluded.failed, canceled = usage_hours.canceled + excluded.canceled,
    input_tokens = usage_hours.input_tokens + excluded.input_tokens, output_tokens = usage_hours.output_tokens + excluded.output_tokens,
    cache_read_tokens = usage_hours.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = usage_hours.cache_write_tokens + excluded.cache_write_tokens,
    reasoning_tokens = usage_hours.reasoning_tokens + excluded.reasoning_tokens, cost = usage_hours.cost + excluded.cost;
