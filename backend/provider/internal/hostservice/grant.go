package hostservice

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	issuer   = "agentruntime"
	audience = "agent-host"
	// maxGrant bounds a grant, which is checked before anything else is known.
	maxGrant = 4 << 10
)

// grantClaims is what a grant says: which turn it is for, at which provider.
type grantClaims struct {
	jwt.Claims
	Provider string `json:"provider"`
	Session  string `json:"session"`
	Turn     string `json:"turn"`
}

// errGrant reports a grant that is not valid. It does not say why: a forger
// learns nothing.
var errGrant = errors.New("the run grant is not valid")

// signGrant returns the grant of a turn.
func signGrant(key []byte, provider, session, turn string, until time.Time) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key}, nil)
	if err != nil {
		return "", fmt.Errorf("sign a run grant: %w", err)
	}
	return jwt.Signed(signer).Claims(grantClaims{
		Claims:   jwt.Claims{Issuer: issuer, Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(until), IssuedAt: jwt.NewNumericDate(time.Now())},
		Provider: provider, Session: session, Turn: turn,
	}).Serialize()
}

// checkGrant verifies a grant and returns what it says.
func checkGrant(key []byte, grant string, now time.Time) (*grantClaims, error) {
	if len(grant) > maxGrant {
		return nil, errGrant
	}
	token, err := jwt.ParseSigned(grant, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		return nil, errGrant
	}
	claims := new(grantClaims)
	if token.Claims(key, claims) != nil {
		return nil, errGrant
	}
	expected := jwt.Expected{Issuer: issuer, AnyAudience: jwt.Audience{audience}, Time: now}
	if claims.Expiry == nil || claims.ValidateWithLeeway(expected, 0) != nil {
		return nil, errGrant
	}
	return claims, nil
}
