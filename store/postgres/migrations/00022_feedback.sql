-- +goose Up
CREATE TABLE feedback (
    -- The order in which feedback was first given.
    n          bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    turn_id    text COLLATE "C" NOT NULL REFERENCES turns ON DELETE CASCADE,
    name       text COLLATE "C" NOT NULL,
    agent_id   text COLLATE "C" NOT NULL,
    tenant     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    score      double precision,
    label      text COLLATE "C" NOT NULL,
    comment    text COLLATE "C" NOT NULL,
    author     text COLLATE "C" NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (turn_id, name)
);
CREATE INDEX feedback_by_number ON feedback (n);
CREATE INDEX feedback_of_owner ON feedback (tenant, subject, n);
