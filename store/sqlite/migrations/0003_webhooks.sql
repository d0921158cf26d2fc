-- +goose Up
CREATE TABLE webhooks (
    -- The order in which webhooks were made.
    n             INTEGER NOT NULL PRIMARY KEY,
    turn_id       TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    id            TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    tenant        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    surface       TEXT NOT NULL,
    state         TEXT NOT NULL,
    cursor        INTEGER NOT NULL,
    attempts      INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER NOT NULL DEFAULT 0,
    last_error    TEXT NOT NULL DEFAULT '',
    due_at        INTEGER NOT NULL,
    worker        TEXT NOT NULL DEFAULT '',
    fence         INTEGER NOT NULL,
    lease_until   INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    data          BLOB,
    UNIQUE (turn_id, id)
);
CREATE INDEX webhooks_due ON webhooks (due_at, n) WHERE state = 'active';
CREATE INDEX webhooks_dead ON webhooks (n) WHERE state = 'dead';
CREATE INDEX webhooks_active ON webhooks (session_id) WHERE state = 'active';
CREATE INDEX webhooks_of_owner ON webhooks (tenant, subject, n);
