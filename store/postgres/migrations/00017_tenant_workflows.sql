-- +goose Up
-- The tenants whose overlays bring or change workflows.
CREATE TABLE workflow_overlays (
    tenant text COLLATE "C" NOT NULL PRIMARY KEY
);
