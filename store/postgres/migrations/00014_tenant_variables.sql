-- +goose Up
CREATE TABLE tenant_variables (
    tenant     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    secret     boolean NOT NULL,
    -- JSON; that of a secret is sealed.
    value      bytea NOT NULL,
    author     text NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, name)
);
