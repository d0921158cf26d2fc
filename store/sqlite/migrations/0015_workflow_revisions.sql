-- +goose Up
-- Which revisions live runs began in, as turns_by_live_revision has it for turns.
CREATE INDEX workflow_runs_by_live_revision ON workflow_runs (revision) WHERE finished_at = 0 AND revision <> '';
