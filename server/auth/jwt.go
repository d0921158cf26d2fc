package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// clockSkew is the maximum difference between the clocks of an issuer and this machine.
	clockSkew = time.Minute
	// maxToken bounds a token, in bytes, and maxClaim a tenant or a subject.
	maxToken = 16 << 10
	maxClaim = 256
)

// JWTSettings define which tokens of an issuer are valid and which claims are used.
type JWTSettings struct {
	// Issuer is the required value of iss, and Audience must be in aud. Both are required.
	Issuer, Audience string
	// Keys are the issuer's.
	Keys KeySource
	// Algorithms are the accepted signature algorithms. They must use public keys: the algorithms
	// of the setting jwt.algorithms.
	Algorithms []string
	// TenantClaim is the claim that names the tenant; when it is empty the tenant
	// is Tenant.
	TenantClaim, Tenant string
	// SubjectClaim names the subject, and ScopesClaim the scopes, as a list or a space-separated
	// string. A token without scopes has none.
	SubjectClaim, ScopesClaim string
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time

	_ struct{} // keyed literals only
}

// KeySource provides the public keys of an issuer.
type KeySource interface {
	// Find returns the keys that may have signed a token with a key id, which is empty if the token
	// has none. It may return no keys; an error means that the keys are currently unavailable. It
	// must be safe for concurrent use.
	Find(ctx context.Context, keyID string) ([]jose.JSONWebKey, error)
}

// JWT is the Authenticator for an external issuer's access tokens, which are signed JSON Web
// Tokens. It recognizes nothing else.
type JWT struct {
	settings   JWTSettings
	algorithms []jose.SignatureAlgorithm
}

var _ server.Authenticator = (*JWT)(nil)

// symmetric are the algorithms that use the same key to sign and verify tokens. With a public key
// as the secret, anyone could sign.
var symmetric = []string{"none", string(jose.HS256), string(jose.HS384), string(jose.HS512)}

// NewJWT returns an authenticator of tokens. It fails if a setting is missing or an
// algorithm does not use public keys.
func NewJWT(s JWTSettings) (*JWT, error) {
	if s.Issuer == "" || s.Audience == "" || s.Keys == nil || len(s.Algorithms) == 0 || s.SubjectClaim == "" || s.TenantClaim == "" && s.Tenant == "" {
		return nil, errors.New("tokens need an issuer, an audience, keys, algorithms, a subject and a tenant")
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	j := &JWT{settings: s}
	for _, name := range s.Algorithms {
		if slices.ContainsFunc(symmetric, func(bad string) bool { return strings.EqualFold(bad, name) }) {
			return nil, fmt.Errorf("the algorithm %s is not one of public keys", name)
		}
		j.algorithms = append(j.algorithms, jose.SignatureAlgorithm(name))
	}
	return j, nil
}

// Authenticate returns the principal named by the token's claims.
func (j *JWT) Authenticate(r *http.Request) (*server.Principal, error) {
	shown, err := credentialFrom(r.Header)
	if err != nil {
		return nil, err
	}
	if !isCompactToken(shown) {
		return nil, &server.CredentialError{Unknown: true, Problem: "the credential is not a signed token"}
	}
	if len(shown) > maxToken {
		return nil, badToken("it is too long")
	}
	token, err := jwt.ParseSigned(shown, j.algorithms)
	if err != nil || len(token.Headers) != 1 {
		return nil, badToken("it cannot be read, or is signed by an algorithm that is not allowed")
	}
	header := token.Headers[0]
	if typ, ok := header.ExtraHeaders[jose.HeaderType]; ok && !accessType(typ) {
		return nil, badToken("it is a token for something else")
	}
	keys, err := j.settings.Keys.Find(r.Context(), header.KeyID)
	if err != nil {
		return nil, fmt.Errorf("the keys of the issuer are not known: %w", err)
	}
	for i := range keys {
		if a := keys[i].Algorithm; a != "" && a != header.Algorithm {
			continue
		}
		var claims jwt.Claims
		var all map[string]json.RawMessage
		if token.Claims(keys[i].Key, &claims, &all) == nil {
			return j.principalOf(&claims, all)
		}
	}
	return nil, badToken("no key of the issuer has signed it")
}

// isCompactToken reports whether a credential has the form of a signed token.
func isCompactToken(shown string) bool {
	return strings.HasPrefix(shown, "eyJ") && strings.Count(shown, ".") == 2
}

// accessType reports whether a token type denotes access tokens. Many issuers use only the generic
// type.
func accessType(typ any) bool {
	name, _ := typ.(string)
	name = strings.TrimPrefix(strings.ToLower(name), "application/")
	return name == "jwt" || name == "at+jwt"
}

func badToken(problem string) error {
	return &server.CredentialError{Problem: "the token is not good: " + problem}
}

// principalOf checks the claims of a token with a valid signature, and returns its principal.
func (j *JWT) principalOf(claims *jwt.Claims, all map[string]json.RawMessage) (*server.Principal, error) {
	if claims.Expiry == nil {
		return nil, badToken("it never expires")
	}
	want := jwt.Expected{Issuer: j.settings.Issuer, AnyAudience: jwt.Audience{j.settings.Audience}, Time: j.settings.Clock()}
	if err := claims.ValidateWithLeeway(want, clockSkew); err != nil {
		return nil, badToken(strings.TrimPrefix(err.Error(), "go-jose/go-jose/jwt: "))
	}
	tenant, subject := j.settings.Tenant, claimText(all[j.settings.SubjectClaim])
	if j.settings.TenantClaim != "" {
		tenant = claimText(all[j.settings.TenantClaim])
	}
	if subject == "" {
		return nil, badToken("it names no subject")
	}
	if tenant == "" {
		return nil, badToken("it names no tenant")
	}
	scopes, err := claimScopes(all[j.settings.ScopesClaim])
	if err != nil {
		return nil, err
	}
	// Configured key ids never contain a slash.
	return &server.Principal{
		Caller: service.Caller{Tenant: tenant, Subject: subject, Scopes: scopes},
		KeyID:  "jwt/" + clip.Text(tenant) + "/" + clip.Text(subject), AuthSource: "jwt",
	}, nil
}

// claimText returns a string claim; empty if it is missing or not a string.
func claimText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil || len(text) > maxClaim || strings.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return text
}

// claimScopes reads scopes: a list, or words in one string. Without the claim it
// returns no scopes.
func claimScopes(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return []string{}, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.Fields(text), nil
	}
	list := []string{}
	if json.Unmarshal(raw, &list) != nil {
		return nil, badToken("its scopes are neither a text nor a list")
	}
	return list, nil
}
