-- +goose Up
-- The agent that a turn was made for, and the one that had the conversation at its end.
ALTER TABLE snapshots ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshots ADD COLUMN current_agent_id TEXT NOT NULL DEFAULT '';
-- That of the tip, unless the session was given another agent since.
ALTER TABLE sessions ADD COLUMN current_agent_id TEXT NOT NULL DEFAULT '';
