-- +goose Up
-- Pages of the runs of a workflow that are in one state, and the count of those under way.
CREATE INDEX workflow_runs_of_workflow_by_status ON workflow_runs (tenant, workflow_id, status, n);
