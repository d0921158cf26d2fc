-- +goose Up
CREATE TABLE model_requests (
    turn_id    TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    -- The message that answers it.
    message_id TEXT NOT NULL,
    call       INTEGER NOT NULL,
    agent_id   TEXT NOT NULL,
    sent_at    INTEGER NOT NULL,
    request    BLOB NOT NULL,
    PRIMARY KEY (turn_id, message_id, call)
);
