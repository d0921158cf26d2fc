-- +goose Up
-- When the status of a turn changed last. An append leaves it, and with it the
-- index, as it is.
ALTER TABLE turns ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
UPDATE turns SET changed_at = updated_at;
CREATE INDEX turns_of_owner_by_change ON turns (tenant, subject, changed_at DESC, id DESC);
