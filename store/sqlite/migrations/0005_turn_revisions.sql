-- +goose Up
-- The hash of the revision that a turn began in; empty before its first claim, and
-- for turns that are older than this column.
ALTER TABLE turns ADD COLUMN revision TEXT NOT NULL DEFAULT '';
CREATE INDEX turns_by_live_revision ON turns (revision) WHERE finished_at = 0 AND revision <> '';
