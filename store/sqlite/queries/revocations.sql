-- name: RevokeToken :exec
INSERT INTO revoked_tokens (token_id, client_id, until, revoked_at) VALUES (@token_id, @client_id, @until, @revoked_at)
ON CONFLICT (token_id) DO NOTHING;

-- name: ForgetRevokedTokens :exec
DELETE FROM revoked_tokens WHERE until < @over;

-- name: RevokedTokens :many
SELECT * FROM revoked_tokens WHERE n > @after ORDER BY n LIMIT CAST(@most AS INTEGER);
