-- +goose Up
CREATE TABLE usage_hours (
    -- Hours since 1970.
    hour               INTEGER NOT NULL,
    tenant             TEXT NOT NULL,
    agent_id           TEXT NOT NULL,
    model_id           TEXT NOT NULL,
    currency           TEXT NOT NULL,
    -- The latency of the turns, -1 without one.
    bucket             INTEGER NOT NULL,
    -- Tells processes apart; always 0 in a file.
    shard              INTEGER NOT NULL,
    turns              INTEGER NOT NULL,
    failed             INTEGER NOT NULL,
    canceled           INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens   INTEGER NOT NULL,
    cost               REAL NOT NULL,
    PRIMARY KEY (hour, tenant, agent_id, model_id, currency, bucket, shard)
) WITHOUT ROWID;
