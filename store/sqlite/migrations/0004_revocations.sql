-- +goose Up
CREATE TABLE revoked_tokens (
    -- The order in which tokens were revoked. No number is used twice.
    n          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    token_id   TEXT NOT NULL UNIQUE,
    client_id  TEXT NOT NULL,
    until      INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL
);
CREATE INDEX revoked_tokens_by_end ON revoked_tokens (until);
