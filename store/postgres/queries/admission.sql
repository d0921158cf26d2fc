-- name: LockTenantsOfTurns :exec
SELECT pg_advisory_xact_lock(tenants.key) FROM (
    SELECT DISTINCT hashtextextended(t.tenant, 1) AS key FROM turns t WHERE t.id = ANY(@turn_ids::text[]) ORDER BY key OFFSET 0
) tenants;

-- name: LockTenants :exec
SELECT pg_advisory_xact_lock(tenants.key) FROM (
    SELECT DISTINCT hashtextextended(w.tenant, 1) AS key FROM (SELECT unnest(@tenants::text[]) AS tenant) w ORDER BY key OFFSET 0
) tenants;

-- name: CountAdmitted :one
SELECT count(*) FROM turns WHERE tenant = $1 AND admitted;

-- name: AdmitOfSessions :many
-- AdmitOfSessions admits the next turn of each session: the one that has begun,
-- and else the first that is due.
WITH admitted AS (
    UPDATE turns SET admitted = true
    WHERE id IN (
        SELECT DISTINCT ON (t.session_id) t.id FROM turns t
        WHERE t.session_id = ANY($1::text[]) AND t.status IN ('pending', 'running', 'waiting')
            AND (t.admitted OR t.not_before IS NULL OR t.not_before <= $2)
        ORDER BY t.session_id, t.started_at IS NULL, t.made
    ) AND status = 'pending' AND NOT admitted
    RETURNING id, made
)
SELECT id FROM admitted ORDER BY made;

-- name: AdmitOfTenants :many
-- AdmitOfTenants admits as many turns of each tenant as it has room for: the
-- oldest that are due, and the next of their session.
WITH admitted AS (
    UPDATE turns SET admitted = true
    WHERE id IN (
        SELECT head.id FROM (SELECT unnest($1::text[]) AS tenant) w
        CROSS JOIN LATERAL (
            SELECT t.id FROM turns t
            WHERE t.tenant = w.tenant AND t.status = 'pending' AND NOT t.admitted
                AND (t.not_before IS NULL OR t.not_before <= $2)
                AND NOT EXISTS (
                    SELECT 1 FROM turns o
                    WHERE o.session_id = t.session_id AND o.id <> t.id AND o.status IN ('pending', 'running', 'waiting')
                        AND (o.started_at IS NOT NULL
                            OR t.started_at IS NULL AND o.made < t.made AND (o.admitted OR o.not_before IS NULL OR o.not_before <= $2))
                )
            ORDER BY t.made
            LIMIT greatest(0, $3::bigint - (SELECT count(*) FROM turns a WHERE a.tenant = w.tenant AND a.admitted))
        ) head
    )
    RETURNING id, made
)
SELECT id FROM admitted ORDER BY made;

-- name: HeldTenants :many
-- HeldTenants returns the tenants of turns that are due and not admitted.
SELECT DISTINCT tenant FROM turns
WHERE status = 'pending' AND NOT admitted AND (not_before IS NULL OR not_before <= @now) ORDER BY tenant;

-- name: HeldSessions :many
-- HeldSessions returns the sessions of turns that are due, the next of their
-- session, and not admitted.
SELECT t.session_id FROM turns t
WHERE t.status = 'pending' AND NOT t.admitted AND (t.not_before IS NULL OR t.not_before <= @now)
    AND NOT EXISTS (
        SELECT 1 FROM turns o
        WHERE o.session_id = t.session_id AND o.id <> t.id AND o.status IN ('pending', 'running', 'waiting')
            AND (o.started_at IS NOT NULL
                OR t.started_at IS NULL AND o.made < t.made AND (o.admitted OR o.not_before IS NULL OR o.not_before <= @now))
    )
LIMIT @most;

-- name: AdmitTurn :exec
-- AdmitTurn admits a turn that is due, and the next of its session, if its
-- tenant has less than room; 0 is any number.
UPDATE turns t SET admitted = true
WHERE t.id = @id AND t.status = 'pending' AND NOT t.admitted AND (t.not_before IS NULL OR t.not_before <= @now)
    AND NOT EXISTS (
        SELECT 1 FROM turns o
        WHERE o.session_id = t.session_id AND o.id <> t.id AND o.status IN ('pending', 'running', 'waiting')
            AND (o.started_at IS NOT NULL
                OR t.started_at IS NULL AND o.made < t.made AND (o.admitted OR o.not_before IS NULL OR o.not_before <= @now))
    )
    AND (@room::bigint = 0 OR @room::bigint > (SELECT count(*) FROM turns a WHERE a.tenant = t.tenant AND a.admitted));

-- name: DropAdmission :exec
UPDATE turns SET admitted = false WHERE id = $1;
