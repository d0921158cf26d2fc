package store

import (
	"context"
	"time"
)

// RevocationHold is how long a revocation is kept after the expiry of its token, so
// that a process whose clock is slow still knows it.
const RevocationHold = time.Hour

// Revocation invalidates a token before it expires.
type Revocation struct {
	// Seq is the place of the revocation in the order in which they were stored,
	// beginning with 1.
	Seq uint64
	// TokenID names the token, and ClientID whom it was issued to.
	TokenID, ClientID string
	// Until is when the token would have ended by itself.
	Until time.Time
	// RevokedAt is when it was ended.
	RevokedAt time.Time
}

// Revocations is the part of a Store that remembers the tokens which were ended
// before their time.
type Revocations interface {
	// RevokeToken stores a revocation, whose Seq the store chooses. For a token
	// that was revoked before it changes nothing. It forgets the revocations of
	// tokens that ended by themselves RevocationHold before RevokedAt.
	RevokeToken(ctx context.Context, r Revocation) error
	// RevokedTokens returns up to limit revocations with a Seq greater than after,
	// in order. Whatever is stored later has a greater Seq than all that was
	// returned, also where several processes store at the same time.
	RevokedTokens(ctx context.Context, after uint64, limit int) ([]Revocation, error)
}
