package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

// RevokeToken stores a revocation. Replicas do so one after the other: a reader that has moved on
// would miss a number that was assigned first but committed last.
func (r *tenantRecords) RevokeToken(ctx context.Context, v store.Revocation) error {
	if err := v.CheckText(); err != nil {
		return err
	}
	err := r.db.Transact(ctx, func(ctx context.Context, s Session) error {
		if err := r.lock(ctx, s, "LOCK TABLE revoked_tokens IN SHARE ROW EXCLUSIVE MODE"); err != nil {
			return err
		}
		_, err := s.Exec(ctx, "INSERT INTO revoked_tokens (token_id, client_id, until, revoked_at) VALUES ($1, $2, $3, $4) ON CONFLICT (token_id) DO NOTHING",
			v.TokenID, v.ClientID, Time(v.Until), Time(v.RevokedAt))
		if err == nil {
			_, err = s.Exec(ctx, "DELETE FROM revoked_tokens WHERE until < $1", Time(v.RevokedAt.Add(-store.RevocationHold)))
		}
		return err
	})
	return r.db.WrapError("revoke token", v.TokenID, err)
}

// RevokedTokens returns revocations in order.
func (r *tenantRecords) RevokedTokens(ctx context.Context, after uint64, limit int) ([]store.Revocation, error) {
	fields := func(v *store.Revocation) []any {
		return []any{&v.Seq, &v.TokenID, &v.ClientID, (*Time)(&v.Until), (*Time)(&v.RevokedAt)}
	}
	list, err := CollectRows(ctx, r.db.Reader, fields, "SELECT n, token_id, client_id, until, revoked_at FROM revoked_tokens WHERE n > $1 ORDER BY n LIMIT $2", int64(after), int64(limit))
	return list, r.db.WrapError("read", "the revoked tokens", err)
}
