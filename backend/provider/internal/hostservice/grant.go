package hostservice

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	issuer   = "agentruntime"
	audience = "agent-host"
	// maxGrant limits a grant, which is checked first.
	maxGrant = 4 << 10
)

// grantClaims are the contents of a grant: the turn and the provider.
type grantClaims struct {
	jwt.Claims
	Provider string `json:"provider"`
	Session  string `json:"session"`
	Turn     string `json:"turn"`
}

// errGrant reports an invalid grant. It gives no reason, so that a forger learns nothing.
var errGrant = errors.New("the run grant is not valid")

// signGrant returns the grant of a turn. process distinguishes grants of this process from
// earlier ones.
func signGrant(key []byte, process, provider, session, turn string, until time.Time) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key}, nil)
	if err != nil {
		return "", fmt.Errorf("sign a run grant: %w", err)
	}
	return jwt.Signed(signer).Claims(grantClaims{
		Claims:   jwt.Claims{ID: process, Issuer: issuer, Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(until), IssuedAt: jwt.NewNumericDate(time.Now())},
		Provider: provider, Session: session, Turn: turn,
	}).Serialize()
}

// HashGrant returns the hash that identifies a grant after a restart, when the key is different:
// see Turn.Earlier.
func HashGrant(grant string) string {
	sum := sha256.Sum256([]byte(grant))
	return hex.EncodeToString(sum[:])
}

// checkGrant returns the claims of an unexpired grant, and reports whether it was signed with the
// key. Unsigned claims prove nothing.
func checkGrant(key []byte, grant string, now time.Time) (claims *grantClaims, signed bool, err error) {
	if len(grant) > maxGrant {
		return nil, false, errGrant
	}
	token, err := jwt.ParseSigned(grant, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		return nil, false, errGrant
	}
	claims = new(grantClaims)
	if signed = token.Claims(key, claims) == nil; !signed {
		claims = new(grantClaims)
		if token.UnsafeClaimsWithoutVerification(claims) != nil {
			return nil, false, errGrant
		}
	}
	expected := jwt.Expected{Issuer: issuer, AnyAudience: jwt.Audience{audience}, Time: now}
	if claims.Expiry == nil || claims.ValidateWithLeeway(expected, 0) != nil {
		return nil, false, errGrant
	}
	return claims, signed, nil
}
