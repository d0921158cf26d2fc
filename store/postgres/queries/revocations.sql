-- name: LockRevokedTokens :exec
-- LockRevokedTokens keeps others from revoking until the transaction has ended, so
-- that the order of the rows is that in which they can be seen.
LOCK TABLE revoked_tokens IN SHARE ROW EXCLUSIVE MODE;

-- name: RevokeToken :exec
INSERT INTO revoked_tokens (token_id, client_id, until, revoked_at) VALUES (@token_id, @client_id, @until, @revoked_at)
ON CONFLICT (token_id) DO NOTHING;

-- name: ForgetRevokedTokens :exec
DELETE FROM revoked_tokens WHERE until < @over;

-- name: RevokedTokens :many
SELECT * FROM revoked_tokens WHERE n > @after ORDER BY n LIMIT @most;
