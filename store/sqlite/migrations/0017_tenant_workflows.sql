-- +goose Up
-- The tenants whose overlays bring or change workflows.
CREATE TABLE workflow_overlays (
    tenant TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;
