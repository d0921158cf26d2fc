-- +goose Up
-- The hash of the revision that a turn began in; empty before its first claim, and
-- for turns that are older than this column.
ALTER TABLE turns ADD COLUMN revision text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX turns_by_live_revision ON turns (revision) WHERE status IN ('pending', 'running', 'waiting') AND revision <> '';
