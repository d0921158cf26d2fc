package sqlite

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// RevokeToken stores a revocation.
func (s *Store) RevokeToken(ctx context.Context, r store.Revocation) error {
	if err := r.CheckText(); err != nil {
		return err
	}
	err := s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		err := tx.RevokeToken(ctx, db.RevokeTokenParams{
			TokenID: r.TokenID, ClientID: r.ClientID, Until: toMicros(r.Until), RevokedAt: toMicros(r.RevokedAt),
		})
		if err != nil {
			return err
		}
		return tx.ForgetRevokedTokens(ctx, toMicros(r.RevokedAt.Add(-store.RevocationHold)))
	})
	return wrapError("revoke token", r.TokenID, err)
}

// RevokedTokens returns revocations in their order.
func (s *Store) RevokedTokens(ctx context.Context, after uint64, limit int) ([]store.Revocation, error) {
	rows, err := s.queries.RevokedTokens(ctx, db.RevokedTokensParams{After: int64(after), Most: int64(limit)})
	if err != nil {
		return nil, wrapError("read the revoked tokens of", s.path, err)
	}
	list := make([]store.Revocation, len(rows))
	for i, row := range rows {
		list[i] = store.Revocation{
			Seq: uint64(row.N), TokenID: row.TokenID, ClientID: row.ClientID, Until: fromMicros(row.Until), RevokedAt: fromMicros(row.RevokedAt),
		}
	}
	return list, nil
}
