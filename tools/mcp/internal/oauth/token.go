package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	// assertionTime is how long a client's assertion is valid.
	assertionTime = 5 * time.Minute
	// assertionType is the type of a JWT that authenticates a client (RFC 7523).
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

// tokenRequest is a request to a token endpoint.
type tokenRequest struct {
	url string
	// audience is the audience of a client assertion: the issuer, or else the endpoint.
	audience string
	style    oauth2.AuthStyle
	scopes   []string
	// params are further parameters.
	params url.Values
}

// requestToken requests a token. The error quotes nothing from the request.
func (c *Client) requestToken(ctx context.Context, r *tokenRequest) (*oauth2.Token, error) {
	config := clientcredentials.Config{
		ClientID: c.ID, ClientSecret: c.Secret, TokenURL: r.url, Scopes: r.scopes, EndpointParams: r.params, AuthStyle: r.style,
	}
	if c.PrivateKey != "" {
		assertion, err := c.signAssertion(r.audience, time.Now())
		if err != nil {
			return nil, err
		}
		config.ClientSecret, config.AuthStyle = "", oauth2.AuthStyleInParams
		config.EndpointParams.Set("client_assertion_type", assertionType)
		config.EndpointParams.Set("client_assertion", assertion)
	}
	token, err := config.Token(ctx)
	if err != nil {
		return nil, credential.ExplainTokenError(err)
	}
	if token.AccessToken == "" {
		return nil, errors.New("get a token: the authorization server returns none")
	}
	return token, nil
}

// signAssertion returns a JWT that authenticates the client.
func (c *Client) signAssertion(audience string, now time.Time) (string, error) {
	key, err := ParseKey(c.PrivateKey)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", errKey
	}
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: c.ID, Subject: c.ID, Audience: jwt.Audience{audience}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionTime)),
	}).Serialize()
}

var errKey = errors.New("the private key must be an RSA, EC or Ed25519 key, as PEM (PKCS #8) or JWK")

// ParseKey reads a private key in PEM or as a JWK. A key without an algorithm gets the usual one
// of its type.
func ParseKey(text string) (*jose.JSONWebKey, error) {
	key := new(jose.JSONWebKey)
	if block, _ := pem.Decode([]byte(text)); block != nil {
		parsed, err := parsePEM(block)
		if err != nil {
			return nil, errKey
		}
		key.Key = parsed
	} else if key.UnmarshalJSON([]byte(text)) != nil {
		return nil, errKey
	}
	if _, isPrivate := key.Key.(crypto.Signer); !isPrivate || !key.Valid() {
		return nil, errKey
	}
	if key.Algorithm == "" {
		key.Algorithm = string(jose.RS256)
		switch k := key.Key.(type) {
		case *ecdsa.PrivateKey:
			key.Algorithm = map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[k.Params().BitSize]
		case ed25519.PrivateKey:
			key.Algorithm = string(jose.EdDSA)
		}
	}
	if key.Algorithm == "" {
		return nil, errKey
	}
	return key, nil
}

func parsePEM(block *pem.Block) (any, error) {
	switch block.Type {
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	default:
		return x509.ParsePKCS8PrivateKey(block.Bytes)
	}
}

// authStyle returns how a client with a secret authenticates at a token endpoint.
func authStyle(methods []string) oauth2.AuthStyle {
	switch {
	case slices.Contains(methods, "client_secret_basic"), len(methods) == 0:
		return oauth2.AuthStyleInHeader
	case slices.Contains(methods, "client_secret_post"):
		return oauth2.AuthStyleInParams
	default:
		return oauth2.AuthStyleAutoDetect
	}
}
