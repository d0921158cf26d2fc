-- +goose Up
CREATE TABLE model_requests (
    turn_id    text COLLATE "C" NOT NULL REFERENCES turns ON DELETE CASCADE,
    -- The message that answers it.
    message_id text COLLATE "C" NOT NULL,
    call       bigint NOT NULL,
    agent_id   text COLLATE "C" NOT NULL,
    sent_at    timestamptz NOT NULL,
    request    bytea NOT NULL,
    PRIMARY KEY (turn_id, message_id, call)
);
