-- +goose Up
CREATE TABLE workflow_runs (
    -- The order in which runs were made.
    n             INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL,
    workflow_id   TEXT NOT NULL,
    tenant        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    shared        INTEGER NOT NULL,
    status        TEXT NOT NULL,
    revision      TEXT NOT NULL,
    message       TEXT NOT NULL DEFAULT '',
    -- The turn that the run waits for; empty for none.
    turn_id       TEXT NOT NULL DEFAULT '',
    -- When the run is looked at again; 0 is never.
    due_at        INTEGER NOT NULL,
    run_limit     INTEGER NOT NULL,
    cancel_reason TEXT NOT NULL DEFAULT '',
    version       INTEGER NOT NULL DEFAULT 1,
    lease_until   INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    started_at    INTEGER NOT NULL DEFAULT 0,
    finished_at   INTEGER NOT NULL DEFAULT 0,
    trigger_data  BLOB,
    input         BLOB,
    definition    BLOB,
    state         BLOB,
    UNIQUE (tenant, id)
);
CREATE INDEX workflow_runs_live ON workflow_runs (n) WHERE finished_at = 0;
CREATE INDEX workflow_runs_awaiting ON workflow_runs (turn_id) WHERE finished_at = 0;
CREATE INDEX workflow_runs_of_tenant ON workflow_runs (tenant, n);
CREATE INDEX workflow_runs_of_workflow ON workflow_runs (tenant, workflow_id, n);
CREATE INDEX workflow_runs_by_status ON workflow_runs (tenant, status, n);
CREATE INDEX workflow_runs_by_age ON workflow_runs (finished_at) WHERE finished_at <> 0;

-- How far each schedule has been worked through.
CREATE TABLE workflow_cursors (
    tenant  TEXT NOT NULL,
    id      TEXT NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

-- Schedules and event triggers that callers made, and which declared ones are paused.
CREATE TABLE workflow_triggers (
    n          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    id         TEXT NOT NULL,
    subject    TEXT NOT NULL,
    declared   INTEGER NOT NULL,
    paused     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    definition BLOB,
    UNIQUE (tenant, kind, id)
);
