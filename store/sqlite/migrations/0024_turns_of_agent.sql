-- +goose Up
-- Lists of the turns of one agent, which would otherwise read all turns of the owner.
CREATE INDEX turns_of_agent ON turns (tenant, subject, agent_id, created_at DESC, id DESC);
