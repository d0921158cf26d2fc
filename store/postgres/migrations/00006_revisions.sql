-- +goose Up
CREATE TABLE revision_documents (
    hash     text COLLATE "C" PRIMARY KEY,
    document bytea NOT NULL
);

-- What was published, the greatest number of a tenant last. A document that is
-- published again has several numbers.
CREATE TABLE revisions (
    tenant     text COLLATE "C" NOT NULL,
    number     bigint NOT NULL,
    hash       text COLLATE "C" NOT NULL REFERENCES revision_documents (hash),
    parent     text COLLATE "C" NOT NULL,
    author     text COLLATE "C" NOT NULL,
    note       text COLLATE "C" NOT NULL,
    findings   bytea,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, number)
);
CREATE INDEX revisions_by_hash ON revisions (hash, tenant, number);
CREATE INDEX revisions_by_age ON revisions (created_at);

-- Which document a process made into what turns resolve in.
CREATE TABLE revision_builds (
    build      text COLLATE "C" PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    hash       text COLLATE "C" NOT NULL,
    components bytea,
    built_at   timestamptz NOT NULL
);
CREATE INDEX revision_builds_by_document ON revision_builds (hash, tenant);

-- Every attempt to publish, refused ones too.
CREATE TABLE revision_attempts (
    n        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant   text COLLATE "C" NOT NULL,
    hash     text COLLATE "C" NOT NULL,
    expected text COLLATE "C" NOT NULL,
    author   text COLLATE "C" NOT NULL,
    note     text COLLATE "C" NOT NULL,
    outcome  text COLLATE "C" NOT NULL,
    findings bytea,
    at       timestamptz NOT NULL
);
CREATE INDEX revision_attempts_of_tenant ON revision_attempts (tenant, n);
