-- +goose Up
CREATE TABLE tenant_variables (
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    secret     BOOLEAN NOT NULL,
    -- JSON; that of a secret is sealed.
    value      BLOB NOT NULL,
    author     TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
