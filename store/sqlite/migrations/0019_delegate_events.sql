-- +goose Up
-- The ids of the calls that led to the delegate whose event it is, as a JSON array; NULL
-- for the events of the turn itself.
ALTER TABLE events ADD COLUMN path TEXT;
