-- Ids compare by bytes, whatever the locale of the database is. JSON that is
-- given back as it came is bytea: jsonb would reorder its keys.

-- +goose Up
CREATE TABLE sessions (
    id           text COLLATE "C" PRIMARY KEY,
    tenant       text COLLATE "C" NOT NULL,
    subject      text COLLATE "C" NOT NULL,
    agent_id     text COLLATE "C" NOT NULL,
    state        text COLLATE "C" NOT NULL,
    -- What is read of the labels; session_labels is what is searched.
    labels       json,
    metadata     bytea,
    tip          text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    active_at    timestamptz NOT NULL,
    last_turn_at timestamptz
);
CREATE INDEX sessions_of_owner ON sessions (tenant, subject, active_at DESC, id DESC);
CREATE INDEX sessions_by_activity ON sessions (active_at DESC, id DESC);

CREATE TABLE session_labels (
    session_id text COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    key        text COLLATE "C" NOT NULL,
    value      text COLLATE "C" NOT NULL,
    PRIMARY KEY (session_id, key)
);
CREATE INDEX session_labels_by_value ON session_labels (key, value, session_id);

CREATE TABLE turns (
    id                 text COLLATE "C" PRIMARY KEY,
    -- The order in which turns were made. It is given under a lock of the
    -- session, so that it is that of the commits within a session.
    made               bigint GENERATED ALWAYS AS IDENTITY,
    session_id         text COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    tenant             text COLLATE "C" NOT NULL,
    subject            text COLLATE "C" NOT NULL,
    agent_id           text COLLATE "C" NOT NULL,
    status             text COLLATE "C" NOT NULL,
    request            bytea,
    result             bytea,
    metadata           bytea,
    background         boolean NOT NULL,
    snapshot_id        text COLLATE "C" NOT NULL,
    parent_snapshot_id text COLLATE "C" NOT NULL,
    from_start         boolean NOT NULL,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    not_before         timestamptz,
    started_at         timestamptz,
    finished_at        timestamptz,
    worker             text COLLATE "C" NOT NULL DEFAULT '',
    fence              bigint NOT NULL DEFAULT 0,
    lease_until        timestamptz,
    heartbeat_at       timestamptz,
    admitted           boolean NOT NULL,
    strikes            integer NOT NULL DEFAULT 0,
    seq                bigint NOT NULL DEFAULT 0,
    steps              integer NOT NULL DEFAULT 0,
    -- How many messages of its own it has.
    messages           integer NOT NULL DEFAULT 0,
    -- What its latest commit was marked with: a transaction whose end was not
    -- heard is known by it.
    last_commit        text COLLATE "C" NOT NULL DEFAULT '',
    -- Whether its events and journal were deleted for their age.
    pruned             boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70); -- room to update a row in place: each append does
-- One turn at a time has a session.
CREATE UNIQUE INDEX turns_exclusive ON turns (session_id)
    WHERE started_at IS NOT NULL AND status IN ('pending', 'running', 'waiting');
CREATE INDEX turns_live ON turns (session_id, made) WHERE status IN ('pending', 'running', 'waiting');
CREATE INDEX turns_admitted ON turns (tenant) WHERE admitted;
CREATE INDEX turns_held_back ON turns (tenant, made) WHERE status = 'pending' AND NOT admitted;
CREATE INDEX turns_running ON turns (id) WHERE status = 'running';
CREATE INDEX turns_prunable ON turns (finished_at) WHERE finished_at IS NOT NULL AND NOT pruned;
CREATE INDEX turns_of_session ON turns (session_id, created_at DESC, id DESC);
CREATE INDEX turns_of_owner ON turns (tenant, subject, created_at DESC, id DESC);
CREATE INDEX turns_by_creation ON turns (created_at DESC, id DESC);

-- Apart from the turn's row, which every append writes anew.
CREATE TABLE turn_states (
    turn_id text COLLATE "C" PRIMARY KEY,
    body    bytea NOT NULL
);

-- The tables that grow with each step refer to their turn without a constraint:
-- it would be checked for every row. Who deletes a turn deletes them first.
CREATE TABLE events (
    turn_id    text COLLATE "C" NOT NULL,
    seq        bigint NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL,
    type       text COLLATE "C" NOT NULL,
    data       bytea,
    PRIMARY KEY (turn_id, seq)
);

CREATE TABLE messages (
    -- A turn, or a snapshot that no turn made.
    owner_id text COLLATE "C" NOT NULL,
    n        integer NOT NULL,
    body     bytea,
    PRIMARY KEY (owner_id, n)
);

CREATE TABLE journal (
    turn_id text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    n       bigint GENERATED ALWAYS AS IDENTITY,
    entry   bytea,
    result  bytea,
    PRIMARY KEY (turn_id, key)
);

CREATE TABLE interactions (
    turn_id     text COLLATE "C" NOT NULL REFERENCES turns ON DELETE CASCADE,
    id          text COLLATE "C" NOT NULL,
    n           bigint GENERATED ALWAYS AS IDENTITY,
    session_id  text COLLATE "C" NOT NULL,
    tenant      text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    state       text COLLATE "C" NOT NULL,
    action      text COLLATE "C" NOT NULL,
    request     bytea,
    resolution  bytea,
    resolved_by text COLLATE "C" NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz,
    resolved_at timestamptz,
    PRIMARY KEY (turn_id, id)
);
CREATE INDEX interactions_of_session ON interactions (session_id, n);
CREATE INDEX interactions_pending ON interactions (tenant, subject, n) WHERE state = 'pending';
CREATE INDEX interactions_expiring ON interactions (expires_at) WHERE state = 'pending' AND expires_at IS NOT NULL;

CREATE TABLE snapshots (
    id            text COLLATE "C" PRIMARY KEY,
    session_id    text COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    tenant        text COLLATE "C" NOT NULL,
    subject       text COLLATE "C" NOT NULL,
    parent_id     text COLLATE "C" NOT NULL,
    turn_id       text COLLATE "C" NOT NULL,
    finish_reason text COLLATE "C" NOT NULL,
    custom        bytea,
    state         bytea,
    artifacts     bytea,
    created_at    timestamptz NOT NULL
);
CREATE INDEX snapshots_of_session ON snapshots (session_id, created_at DESC, id DESC);

CREATE TABLE artifacts (
    id         text COLLATE "C" PRIMARY KEY,
    n          bigint GENERATED ALWAYS AS IDENTITY,
    session_id text COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    turn_id    text COLLATE "C" NOT NULL,
    tenant     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    media_type text COLLATE "C" NOT NULL,
    size       integer NOT NULL,
    metadata   bytea,
    data       bytea,
    created_at timestamptz NOT NULL
);
CREATE INDEX artifacts_of_turn ON artifacts (turn_id, n);
CREATE INDEX artifacts_of_session ON artifacts (session_id);

CREATE TABLE idempotency_keys (
    -- The place in which a key is unique: an owner or a session.
    scope      text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    hash       bytea,
    -- What the first request made, and the session that the key goes with.
    id         text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX idempotency_keys_of_session ON idempotency_keys (session_id);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
