-- +goose Up
CREATE TABLE usage_hours (
    -- Hours since 1970.
    hour               bigint NOT NULL,
    tenant             text COLLATE "C" NOT NULL,
    agent_id           text COLLATE "C" NOT NULL,
    model_id           text COLLATE "C" NOT NULL,
    currency           text COLLATE "C" NOT NULL,
    -- The latency of the turns, -1 without one.
    bucket             bigint NOT NULL,
    -- Tells processes apart, so that few wait for each other's rows.
    shard              bigint NOT NULL,
    turns              bigint NOT NULL,
    failed             bigint NOT NULL,
    canceled           bigint NOT NULL,
    input_tokens       bigint NOT NULL,
    output_tokens      bigint NOT NULL,
    cache_read_tokens  bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    reasoning_tokens   bigint NOT NULL,
    cost               double precision NOT NULL,
    PRIMARY KEY (hour, tenant, agent_id, model_id, currency, bucket, shard)
) WITH (fillfactor = 50);
