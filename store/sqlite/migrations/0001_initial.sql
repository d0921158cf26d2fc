-- Times are microseconds since 1970, and 0 is no time. JSON and other payloads
-- are blobs: they are given back as they came.

-- +goose Up
CREATE TABLE sessions (
    id           TEXT NOT NULL PRIMARY KEY,
    tenant       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    agent_id     TEXT NOT NULL,
    state        TEXT NOT NULL,
    -- What is read of the labels; session_labels is what is searched.
    labels       BLOB,
    metadata     BLOB,
    tip          TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    active_at    INTEGER NOT NULL,
    last_turn_at INTEGER NOT NULL
);
CREATE INDEX sessions_of_owner ON sessions (tenant, subject, active_at DESC, id DESC);
CREATE INDEX sessions_by_activity ON sessions (active_at DESC, id DESC);

CREATE TABLE session_labels (
    session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    PRIMARY KEY (session_id, key)
) WITHOUT ROWID;
CREATE INDEX session_labels_by_value ON session_labels (key, value, session_id);

CREATE TABLE turns (
    -- The order in which turns were made.
    made               INTEGER NOT NULL PRIMARY KEY,
    id                 TEXT NOT NULL UNIQUE,
    session_id         TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    tenant             TEXT NOT NULL,
    subject            TEXT NOT NULL,
    agent_id           TEXT NOT NULL,
    status             TEXT NOT NULL,
    background         BOOLEAN NOT NULL,
    snapshot_id        TEXT NOT NULL,
    parent_snapshot_id TEXT NOT NULL,
    from_start         BOOLEAN NOT NULL,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    not_before         INTEGER NOT NULL,
    started_at         INTEGER NOT NULL DEFAULT 0,
    finished_at        INTEGER NOT NULL DEFAULT 0,
    worker             TEXT NOT NULL DEFAULT '',
    fence              INTEGER NOT NULL DEFAULT 0,
    lease_until        INTEGER NOT NULL DEFAULT 0,
    heartbeat_at       INTEGER NOT NULL DEFAULT 0,
    admitted           BOOLEAN NOT NULL,
    strikes            INTEGER NOT NULL DEFAULT 0,
    seq                INTEGER NOT NULL DEFAULT 0,
    steps              INTEGER NOT NULL DEFAULT 0,
    -- How many messages of its own it has.
    messages           INTEGER NOT NULL DEFAULT 0,
    -- Whether its events and journal were deleted for their age.
    pruned             BOOLEAN NOT NULL DEFAULT 0,
    request            BLOB,
    result             BLOB,
    metadata           BLOB
);
-- A live turn has finished_at = 0. One at a time has a session.
CREATE UNIQUE INDEX turns_exclusive ON turns (session_id) WHERE started_at <> 0 AND finished_at = 0;
CREATE INDEX turns_live ON turns (session_id, made) WHERE finished_at = 0;
CREATE INDEX turns_admitted ON turns (tenant) WHERE admitted;
CREATE INDEX turns_held_back ON turns (tenant, made) WHERE status = 'pending' AND NOT admitted;
CREATE INDEX turns_delayed ON turns (not_before) WHERE not_before <> 0 AND status = 'pending' AND NOT admitted;
CREATE INDEX turns_by_status ON turns (status, created_at DESC, id DESC) WHERE finished_at = 0;
CREATE INDEX turns_prunable ON turns (finished_at) WHERE finished_at <> 0 AND NOT pruned;
CREATE INDEX turns_of_session ON turns (session_id, created_at DESC, id DESC);
CREATE INDEX turns_of_owner ON turns (tenant, subject, created_at DESC, id DESC);
CREATE INDEX turns_by_creation ON turns (created_at DESC, id DESC);

-- Apart from the turn's row, which every append writes anew.
CREATE TABLE turn_states (
    turn_id TEXT NOT NULL PRIMARY KEY,
    body    BLOB NOT NULL
);

-- The tables that grow with each step refer to their turn without a constraint:
-- it would be checked for every row. Who deletes a turn deletes them first.
CREATE TABLE events (
    turn_id TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    type    TEXT NOT NULL,
    data    BLOB,
    PRIMARY KEY (turn_id, seq)
);

CREATE TABLE messages (
    -- A turn, or a snapshot that no turn made.
    owner_id TEXT NOT NULL,
    n        INTEGER NOT NULL,
    body     BLOB,
    PRIMARY KEY (owner_id, n)
);

CREATE TABLE journal (
    n       INTEGER NOT NULL PRIMARY KEY,
    turn_id TEXT NOT NULL,
    key     TEXT NOT NULL,
    entry   BLOB,
    result  BLOB,
    UNIQUE (turn_id, key)
);

CREATE TABLE interactions (
    n           INTEGER NOT NULL PRIMARY KEY,
    turn_id     TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    id          TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    tenant      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    state       TEXT NOT NULL,
    action      TEXT NOT NULL,
    request     BLOB,
    resolution  BLOB,
    resolved_by TEXT NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    resolved_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (turn_id, id)
);
CREATE INDEX interactions_of_session ON interactions (session_id, created_at, n);
CREATE INDEX interactions_pending ON interactions (tenant, subject, created_at, n) WHERE state = 'pending';
CREATE INDEX interactions_expiring ON interactions (expires_at) WHERE state = 'pending' AND expires_at <> 0;

CREATE TABLE snapshots (
    id            TEXT NOT NULL PRIMARY KEY,
    session_id    TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    tenant        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    parent_id     TEXT NOT NULL,
    turn_id       TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    custom        BLOB,
    state         BLOB,
    artifacts     BLOB
);
CREATE INDEX snapshots_of_session ON snapshots (session_id, created_at DESC, id DESC);

CREATE TABLE artifacts (
    n          INTEGER NOT NULL PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    turn_id    TEXT NOT NULL,
    tenant     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    metadata   BLOB,
    data       BLOB
);
CREATE INDEX artifacts_of_turn ON artifacts (turn_id, n);
CREATE INDEX artifacts_of_session ON artifacts (session_id);

CREATE TABLE idempotency_keys (
    -- The place in which a key is unique: an owner or a session.
    scope      TEXT NOT NULL,
    key        TEXT NOT NULL,
    hash       BLOB,
    -- What the first request made, and the session that the key goes with.
    id         TEXT NOT NULL,
    session_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_of_session ON idempotency_keys (session_id);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
