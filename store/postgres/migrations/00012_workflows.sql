-- +goose Up
CREATE TABLE workflow_runs (
    -- The order in which runs were made.
    n             bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            text COLLATE "C" NOT NULL,
    workflow_id   text COLLATE "C" NOT NULL,
    tenant        text COLLATE "C" NOT NULL,
    subject       text COLLATE "C" NOT NULL,
    shared        bigint NOT NULL,
    status        text COLLATE "C" NOT NULL,
    revision      text COLLATE "C" NOT NULL,
    message       text COLLATE "C" NOT NULL DEFAULT '',
    -- The turn that the run waits for; empty for none.
    turn_id       text COLLATE "C" NOT NULL DEFAULT '',
    -- When the run is looked at again; 0 is never.
    due_at        bigint NOT NULL,
    run_limit     bigint NOT NULL,
    cancel_reason text COLLATE "C" NOT NULL DEFAULT '',
    version       bigint NOT NULL DEFAULT 1,
    lease_until   bigint NOT NULL DEFAULT 0,
    created_at    bigint NOT NULL,
    updated_at    bigint NOT NULL,
    started_at    bigint NOT NULL DEFAULT 0,
    finished_at   bigint NOT NULL DEFAULT 0,
    trigger_data  bytea,
    input         bytea,
    definition    bytea,
    state         bytea,
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
    tenant  text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL,
    last_at bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- Schedules and event triggers that callers made, and which declared ones are paused.
CREATE TABLE workflow_triggers (
    n          bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    declared   bigint NOT NULL,
    paused     bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    definition bytea,
    UNIQUE (tenant, kind, id)
);
