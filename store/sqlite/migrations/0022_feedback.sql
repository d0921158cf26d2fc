-- +goose Up
CREATE TABLE feedback (
    -- The order in which feedback was first given.
    n          INTEGER NOT NULL PRIMARY KEY,
    turn_id    TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    tenant     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    score      REAL,
    label      TEXT NOT NULL,
    comment    TEXT NOT NULL,
    author     TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (turn_id, name)
);
CREATE INDEX feedback_of_owner ON feedback (tenant, subject, n);
