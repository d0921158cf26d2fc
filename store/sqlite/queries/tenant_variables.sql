-- name: PutTenantVariable :exec
INSERT INTO tenant_variables (tenant, name, secret, value, author, updated_at) VALUES (@tenant, @name, @secret, @value, @author, @updated_at)
ON CONFLICT (tenant, name) DO UPDATE SET secret = excluded.secret, value = excluded.value, author = excluded.author, updated_at = excluded.updated_at;

-- name: DeleteTenantVariable :execrows
DELETE FROM tenant_variables WHERE tenant = @tenant AND name = @name;

-- name: GetTenantVariable :one
SELECT * FROM tenant_variables WHERE tenant = @tenant AND name = @name;

-- name: TenantVariablesOf :many
SELECT * FROM tenant_variables WHERE tenant = @tenant AND name > @after ORDER BY name LIMIT CAST(@most AS INTEGER);
