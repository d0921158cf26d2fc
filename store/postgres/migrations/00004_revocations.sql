-- +goose Up
CREATE TABLE revoked_tokens (
    token_id   text COLLATE "C" PRIMARY KEY,
    -- The order in which tokens were revoked.
    n          bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    client_id  text COLLATE "C" NOT NULL,
    until      timestamptz NOT NULL,
    revoked_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX revoked_tokens_in_order ON revoked_tokens (n);
CREATE INDEX revoked_tokens_by_end ON revoked_tokens (until);
