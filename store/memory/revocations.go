package memory

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
)

// RevokeToken stores a revocation.
func (m *Store) RevokeToken(ctx context.Context, r store.Revocation) error {
	if err := r.CheckText(); err != nil {
		return err
	}
	r.Until, r.RevokedAt = truncateTime(r.Until), truncateTime(r.RevokedAt)
	return m.withLock(ctx, func() error {
		if !slices.ContainsFunc(m.revoked, func(old store.Revocation) bool { return old.TokenID == r.TokenID }) {
			m.revocations++
			r.Seq = m.revocations
			m.revoked = append(m.revoked, r)
		}
		over := r.RevokedAt.Add(-store.RevocationHold)
		m.revoked = slices.DeleteFunc(m.revoked, func(old store.Revocation) bool { return old.Until.Before(over) })
		return nil
	})
}

// RevokedTokens returns revocations in order.
func (m *Store) RevokedTokens(ctx context.Context, after uint64, limit int) (found []store.Revocation, err error) {
	err = m.withLock(ctx, func() error {
		first := slices.IndexFunc(m.revoked, func(r store.Revocation) bool { return r.Seq > after })
		if first >= 0 {
			rest := m.revoked[first:]
			found = slices.Clone(rest[:min(limit, len(rest))])
		}
		return nil
	})
	return found, err
}
