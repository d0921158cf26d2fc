-- +goose Up
CREATE TABLE revision_documents (
    hash     TEXT NOT NULL PRIMARY KEY,
    document BLOB NOT NULL
) WITHOUT ROWID;

-- What was published, the greatest number of a tenant last. A document that is
-- published again has several numbers.
CREATE TABLE revisions (
    tenant     TEXT NOT NULL,
    number     INTEGER NOT NULL,
    hash       TEXT NOT NULL REFERENCES revision_documents (hash),
    parent     TEXT NOT NULL,
    author     TEXT NOT NULL,
    note       TEXT NOT NULL,
    findings   BLOB,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, number)
) WITHOUT ROWID;
CREATE INDEX revisions_by_hash ON revisions (hash, tenant, number);
CREATE INDEX revisions_by_age ON revisions (created_at);

-- Which document a process made into what turns resolve in.
CREATE TABLE revision_builds (
    build      TEXT NOT NULL PRIMARY KEY,
    tenant     TEXT NOT NULL,
    hash       TEXT NOT NULL,
    components BLOB,
    built_at   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX revision_builds_by_document ON revision_builds (hash, tenant);

-- Every attempt to publish, refused ones too.
CREATE TABLE revision_attempts (
    n        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant   TEXT NOT NULL,
    hash     TEXT NOT NULL,
    expected TEXT NOT NULL,
    author   TEXT NOT NULL,
    note     TEXT NOT NULL,
    outcome  TEXT NOT NULL,
    findings BLOB,
    at       INTEGER NOT NULL
);
CREATE INDEX revision_attempts_of_tenant ON revision_attempts (tenant, n);
