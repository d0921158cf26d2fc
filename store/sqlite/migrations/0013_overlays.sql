-- +goose Up
-- The base below the overlay of a tenant that a build was made of.
ALTER TABLE revision_builds ADD COLUMN base TEXT NOT NULL DEFAULT '';
CREATE INDEX revision_builds_by_base ON revision_builds (base) WHERE base <> '';

-- The tenants whose overlays stay over another base than the current one.
CREATE TABLE held_overlays (
    tenant TEXT NOT NULL PRIMARY KEY,
    base   TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX held_overlays_by_base ON held_overlays (base);

-- How often tenants have published.
CREATE TABLE overlay_changes (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    mark INTEGER NOT NULL
);
