-- +goose Up
-- The base below the overlay of a tenant that a build was made of.
ALTER TABLE revision_builds ADD COLUMN base text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX revision_builds_by_base ON revision_builds (base) WHERE base <> '';

-- The tenants whose overlays stay over another base than the current one.
CREATE TABLE held_overlays (
    tenant text COLLATE "C" NOT NULL PRIMARY KEY,
    base   text COLLATE "C" NOT NULL
);
CREATE INDEX held_overlays_by_base ON held_overlays (base);

-- How often tenants have published.
CREATE TABLE overlay_changes (
    id   bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    mark bigint NOT NULL
);
