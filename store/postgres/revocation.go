package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// RevokeToken stores a revocation. Replicas do so one after the other: a number
// that is taken first but seen last would be missed by a reader that has moved on.
func (s *Store) RevokeToken(ctx context.Context, r store.Revocation) error {
	if err := r.CheckText(); err != nil {
		return err
	}
	err := s.runTransaction(ctx, func(tx pgx.Tx) error {
		q := s.queries.WithTx(tx)
		if err := q.LockRevokedTokens(ctx); err != nil {
			return err
		}
		err := q.RevokeToken(ctx, db.RevokeTokenParams{
			TokenID: r.TokenID, ClientID: r.ClientID, Until: instant.Time(r.Until), RevokedAt: instant.Time(r.RevokedAt),
		})
		if err != nil {
			return err
		}
		return q.ForgetRevokedTokens(ctx, instant.Time(r.RevokedAt.Add(-store.RevocationHold)))
	})
	return wrapError("revoke token", r.TokenID, err)
}

// RevokedTokens returns revocations in their order.
func (s *Store) RevokedTokens(ctx context.Context, after uint64, limit int) ([]store.Revocation, error) {
	rows, err := s.queries.RevokedTokens(ctx, db.RevokedTokensParams{After: int64(after), Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("read the revoked tokens: %w", err)
	}
	list := make([]store.Revocation, len(rows))
	for i, row := range rows {
		list[i] = store.Revocation{
			Seq: uint64(row.N), TokenID: row.TokenID, ClientID: row.ClientID, Until: time.Time(row.Until), RevokedAt: time.Time(row.RevokedAt),
		}
	}
	return list, nil
}
