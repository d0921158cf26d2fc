-- +goose Up
CREATE TABLE webhooks (
    turn_id       text COLLATE "C" NOT NULL REFERENCES turns ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    -- The order in which webhooks were made.
    n             bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    session_id    text COLLATE "C" NOT NULL,
    tenant        text COLLATE "C" NOT NULL,
    subject       text COLLATE "C" NOT NULL,
    surface       text COLLATE "C" NOT NULL,
    data          bytea,
    state         text COLLATE "C" NOT NULL,
    cursor        bigint NOT NULL,
    attempts      integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    last_error    text COLLATE "C" NOT NULL DEFAULT '',
    due_at        timestamptz NOT NULL,
    worker        text COLLATE "C" NOT NULL DEFAULT '',
    fence         bigint NOT NULL,
    lease_until   timestamptz,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    PRIMARY KEY (turn_id, id)
);
CREATE INDEX webhooks_due ON webhooks (due_at, n) WHERE state = 'active';
CREATE INDEX webhooks_dead ON webhooks (n) WHERE state = 'dead';
CREATE INDEX webhooks_active ON webhooks (session_id) WHERE state = 'active';
CREATE INDEX webhooks_of_owner ON webhooks (tenant, subject, n);
