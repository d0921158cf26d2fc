-- name: CountAdmitted :one
SELECT count(*) FROM turns WHERE tenant = ? AND admitted;

-- name: SetAdmitted :exec
UPDATE turns SET admitted = ? WHERE made = ?;

-- name: NextOfSession :one
-- NextOfSession returns the live turn of a session that has begun, and else the
-- first that is due. One that is admitted was due when it was.
SELECT made, id, status, admitted FROM turns WHERE made = COALESCE(
    (SELECT b.made FROM turns b WHERE b.session_id = @session_id AND b.started_at <> 0 AND b.finished_at = 0),
    (SELECT d.made FROM turns d WHERE d.session_id = @session_id AND d.finished_at = 0 AND (d.not_before <= @now OR d.admitted) ORDER BY d.made LIMIT 1)
);

-- name: HeldOfTenant :many
-- HeldOfTenant returns the turns of a tenant that nothing but its limit holds
-- back: those that are due, and the next of their session.
SELECT t.made, t.id FROM turns t
WHERE t.tenant = @tenant AND t.status = 'pending' AND NOT t.admitted AND t.not_before <= @now AND NOT EXISTS (
    SELECT 1 FROM turns o WHERE o.session_id = t.session_id AND o.finished_at = 0 AND o.made <> t.made
        AND (o.started_at <> 0 OR t.started_at = 0 AND o.made < t.made AND (o.not_before <= @now OR o.admitted))
)
ORDER BY t.made LIMIT CAST(@most AS INTEGER);

-- name: HeldTenants :many
SELECT DISTINCT tenant FROM turns WHERE status = 'pending' AND NOT admitted;

-- name: NowDue :many
-- NowDue returns the tenants and sessions of turns that became due.
SELECT DISTINCT tenant, session_id FROM turns
WHERE not_before <> 0 AND not_before <= @now AND status = 'pending' AND NOT admitted;

-- name: QueuedTurns :many
-- QueuedTurns returns the turns that have a job, or should have one.
SELECT id, not_before FROM turns WHERE status = 'pending' AND finished_at = 0 AND (admitted OR not_before > @now) ORDER BY made;
