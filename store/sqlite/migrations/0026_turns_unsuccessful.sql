-- +goose Up
-- Lists of failed and canceled turns, which are rare and would otherwise read all turns.
CREATE INDEX turns_unsuccessful_of_owner ON turns (tenant, subject, status, created_at DESC, id DESC) WHERE status IN ('failed', 'canceled');
CREATE INDEX turns_unsuccessful ON turns (status, created_at DESC, id DESC) WHERE status IN ('failed', 'canceled');
