-- +goose Up
CREATE TABLE replicas (
    id      text COLLATE "C" NOT NULL PRIMARY KEY,
    seen_at timestamptz NOT NULL,
    until   timestamptz NOT NULL
);
