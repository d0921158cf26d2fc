-- name: AddRevisionDocument :exec
INSERT INTO revision_documents (hash, document) VALUES (@hash, @document) ON CONFLICT (hash) DO NOTHING;

-- name: InsertRevision :exec
INSERT INTO revisions (tenant, number, hash, parent, author, note, findings, created_at)
VALUES (@tenant, @number, @hash, @parent, @author, @note, @findings, @created_at);

-- name: CurrentRevision :one
SELECT r.*, d.document FROM revisions r JOIN revision_documents d ON d.hash = r.hash
WHERE r.tenant = @tenant ORDER BY r.number DESC LIMIT 1;

-- name: CurrentHash :one
SELECT r.hash FROM revisions r WHERE r.tenant = @tenant ORDER BY r.number DESC LIMIT 1;

-- name: RevisionByHash :one
SELECT r.*, d.document FROM revisions r JOIN revision_documents d ON d.hash = r.hash
WHERE r.tenant = @tenant AND r.hash = @hash ORDER BY r.number DESC LIMIT 1;

-- name: RevisionsOf :many
SELECT * FROM revisions WHERE tenant = @tenant AND number < @below ORDER BY number DESC LIMIT @most;

-- name: AddRevisionBuild :execrows
INSERT INTO revision_builds (build, tenant, hash, base, components, built_at)
SELECT @build::text, r.tenant, r.hash, @base::text, sqlc.narg(components)::bytea, @built_at::timestamptz FROM revisions r WHERE r.tenant = @tenant AND r.hash = @hash LIMIT 1
ON CONFLICT (build) DO UPDATE SET tenant = excluded.tenant, hash = excluded.hash, base = excluded.base, components = excluded.components, built_at = excluded.built_at;

-- name: GetRevisionBuild :one
SELECT * FROM revision_builds WHERE build = @build;

-- name: AddRevisionAttempt :exec
INSERT INTO revision_attempts (tenant, hash, expected, author, note, outcome, findings, at)
VALUES (@tenant, @hash, @expected, @author, @note, @outcome, @findings, @at);

-- name: RevisionAttempts :many
SELECT * FROM revision_attempts WHERE tenant = @tenant AND n < @below ORDER BY n DESC LIMIT @most;

-- name: OldRevisions :many
SELECT r.tenant, r.number, r.hash FROM revisions r
WHERE r.created_at < @before
    AND EXISTS (SELECT 1 FROM revisions o WHERE o.tenant = r.tenant AND o.number > r.number)
    AND NOT EXISTS (
        SELECT 1 FROM revision_builds b JOIN turns t ON t.revision = b.build AND t.revision <> '' AND t.status IN ('pending', 'running', 'waiting')
        WHERE b.hash = r.hash AND b.tenant = r.tenant
    )
    AND NOT EXISTS (
        SELECT 1 FROM revision_builds b JOIN workflow_runs w ON w.revision = b.build AND w.revision <> '' AND w.finished_at = 0
        WHERE b.hash = r.hash AND b.tenant = r.tenant
    )
    AND NOT EXISTS (
        SELECT 1 FROM revision_builds b JOIN turns t ON t.revision = b.build AND t.revision <> '' AND t.status IN ('pending', 'running', 'waiting')
        WHERE b.base = r.hash AND b.base <> '' AND r.tenant = ''
    )
    AND NOT EXISTS (
        SELECT 1 FROM revision_builds b JOIN workflow_runs w ON w.revision = b.build AND w.revision <> '' AND w.finished_at = 0
        WHERE b.base = r.hash AND b.base <> '' AND r.tenant = ''
    )
    AND NOT EXISTS (SELECT 1 FROM held_overlays h WHERE h.base = r.hash AND r.tenant = '')
ORDER BY r.created_at LIMIT @most;

-- name: DeleteRevision :exec
DELETE FROM revisions WHERE tenant = @tenant AND number = @number;

-- name: DeleteBuildsOf :exec
DELETE FROM revision_builds WHERE revision_builds.hash = @hash AND revision_builds.tenant = @tenant
    AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.hash = @hash AND r.tenant = @tenant);

-- name: DeleteRevisionDocument :exec
DELETE FROM revision_documents WHERE revision_documents.hash = @hash AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.hash = @hash);

-- name: LockRevisions :exec
-- LockRevisions keeps others from publishing for a tenant until the transaction has ended.
SELECT pg_advisory_xact_lock(hashtextextended('agentruntime.revisions.' || @tenant::text, 0));

-- name: HeldBase :one
SELECT base FROM held_overlays WHERE tenant = @tenant;

-- name: HoldOverlay :exec
INSERT INTO held_overlays (tenant, base) VALUES (@tenant, @base);

-- name: FollowBase :exec
DELETE FROM held_overlays WHERE tenant = @tenant;

-- name: FollowBases :exec
DELETE FROM held_overlays;

-- name: Overlays :many
SELECT r.*, d.document FROM revisions r JOIN revision_documents d ON d.hash = r.hash
WHERE r.tenant > @after AND NOT EXISTS (SELECT 1 FROM revisions o WHERE o.tenant = r.tenant AND o.number > r.number)
ORDER BY r.tenant LIMIT @most;

-- name: NoteWorkflows :exec
INSERT INTO workflow_overlays (tenant) VALUES (@tenant) ON CONFLICT (tenant) DO NOTHING;

-- name: ForgetWorkflows :exec
DELETE FROM workflow_overlays WHERE tenant = @tenant;

-- name: WorkflowOverlays :many
SELECT r.tenant, r.hash, CAST(COALESCE((SELECT h.base FROM held_overlays h WHERE h.tenant = r.tenant), '') AS text) AS base FROM revisions r
WHERE r.tenant IN (SELECT w.tenant FROM workflow_overlays w WHERE w.tenant > @after UNION SELECT h.tenant FROM held_overlays h WHERE h.tenant > @after)
    AND NOT EXISTS (SELECT 1 FROM revisions o WHERE o.tenant = r.tenant AND o.number > r.number)
ORDER BY r.tenant LIMIT @most;

-- name: OverlayMark :one
SELECT mark FROM overlay_changes WHERE id = 1;

-- name: RaiseOverlayMark :exec
INSERT INTO overlay_changes (id, mark) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET mark = overlay_changes.mark + 1;

-- name: ShareBase :exec
-- ShareBase keeps others from publishing a base until the transaction has ended.
SELECT pg_advisory_xact_lock_shared(hashtextextended('agentruntime.revisions.', 0));
