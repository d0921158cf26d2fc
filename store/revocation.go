package store

import (
	"context"
	"time"
)

// RevocationHold is how long a revocation is kept after its token expires, so that a process with a
// slow clock still knows it.
const RevocationHold = time.Hour

// Revocation invalidates a token before it expires.
type Revocation struct {
	// Seq is the position of the revocation in the order of storing, from 1.
	Seq uint64
	// TokenID names the token, and ClientID the client it was issued to.
	TokenID, ClientID string
	// Until is when the token would have expired.
	Until time.Time
	// RevokedAt is when the token was revoked.
	RevokedAt time.Time
}

// Revocations is the part of a Store that keeps revoked tokens.
type Revocations interface {
	// RevokeToken stores a revocation, whose Seq the store chooses. It changes nothing if the token
	// is already revoked. It deletes the revocations of tokens that expired more than
	// RevocationHold before RevokedAt.
	RevokeToken(ctx context.Context, r Revocation) error
	// RevokedTokens returns up to limit revocations with a Seq greater than after, in order. A
	// revocation that is stored later has a greater Seq than all those returned, even if several
	// processes store concurrently.
	RevokedTokens(ctx context.Context, after uint64, limit int) ([]Revocation, error)
}
