package auth

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

// Prefixes of tokens that a server issues itself, after OAuthSettings.TokenPrefix.
const (
	accessPrefix  = "at_"
	refreshPrefix = "rt_"
)

// Client is a program that exchanges its secret for access tokens.
type Client struct {
	// Secret is the hash of the client's secret.
	Secret KeyHash
	// Principal is the holder of the client's tokens. Its KeyID is the client's id. Its Scopes,
	// which must not be nil, are the most that tokens may have.
	Principal *server.Principal
	// Expires is when the client and all its tokens expire; the zero time means never.
	Expires time.Time
}

// OAuthSettings configures the issuing of tokens.
type OAuthSettings struct {
	// Key is the key from which the signing key is derived: processes with the same key and
	// clients accept each other's tokens. It is required.
	Key []byte
	// TokenTTL is the lifetime of an access token. It is required.
	TokenTTL time.Duration
	Clients  []Client
	// TokenPrefix is the prefix of all tokens, which distinguishes issuers; it may be empty.
	TokenPrefix string
	// Enter counts a request against its client's rate limit, as Server.Enter does; nil does not
	// count.
	Enter func(*server.Principal) (leave func(), err error)
	// Revocations stores revoked tokens; nil forgets them when the process ends.
	Revocations Revocations
	// Logger logs revocation errors; nil drops them.
	Logger *zap.Logger
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time

	_ struct{} // keyed literals only
}

// OAuth issues access tokens to clients and authenticates them. Tokens are signed and not stored,
// so every process accepts them. A client's rights are looked up when a token is used: if the
// client is removed or gets a new secret, its tokens become invalid. Revocations are stored, and
// shared by all processes that use the store.
type OAuth struct {
	key     []byte
	access  string // the prefix of access tokens
	refresh string // the prefix of refresh tokens
	clock   func() time.Time
	enter   func(*server.Principal) (leave func(), err error)
	revoked *revocations
	logger  *zap.Logger

	mu      sync.RWMutex
	ttl     time.Duration
	clients map[string]*Client
}

var (
	_ server.Authenticator = (*OAuth)(nil)
	_ server.Surface       = (*OAuth)(nil)
	_ server.ErrorWriter   = (*OAuth)(nil)
)

// NewOAuth returns the issuer and authenticator of tokens. It fails without a key.
func NewOAuth(s OAuthSettings) (*OAuth, error) {
	if len(s.Key) < sha256.Size {
		return nil, fmt.Errorf("tokens need a key of %d bytes or more", sha256.Size)
	}
	key, err := hkdf.Key(sha256.New, s.Key, nil, "agentruntime access tokens 1", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of tokens: %w", err)
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.Enter == nil {
		s.Enter = func(*server.Principal) (func(), error) { return func() {}, nil }
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	o := &OAuth{key: key, access: s.TokenPrefix + accessPrefix, refresh: s.TokenPrefix + refreshPrefix, clock: s.Clock, enter: s.Enter, revoked: newRevocations(s.Revocations, s.Clock), logger: s.Logger}
	o.Configure(s.TokenTTL, s.Clients)
	return o, nil
}

// Configure replaces the clients and the lifetime of new tokens.
func (o *OAuth) Configure(ttl time.Duration, clients []Client) {
	byID := make(map[string]*Client, len(clients))
	for i := range clients {
		byID[clients[i].Principal.KeyID] = &clients[i]
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ttl, o.clients = ttl, byID
}

// grant is the content of a token.
type grant struct {
	ID      string   `json:"i"`
	Client  string   `json:"c"`
	Scopes  []string `json:"s"`
	Expires int64    `json:"e"`
	// Refresh is the id of the refresh token that the access token was issued for, if any.
	Refresh string `json:"r,omitempty"`
}

// Authenticate returns the principal of the client that an access token was issued
// to, with the scopes of the token.
func (o *OAuth) Authenticate(r *http.Request) (*server.Principal, error) {
	shown, err := credentialFrom(r.Header)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(shown, o.access) {
		return nil, &server.CredentialError{Unknown: true, Problem: "the credential is not an access token"}
	}
	g, client, err := o.openToken(o.access, shown)
	if err != nil {
		return nil, err
	}
	p := *client.Principal
	p.Caller.Scopes = intersectScopes(g.Scopes, p.Caller.Scopes)
	return &p, nil
}

// IssueRefreshToken returns a refresh token of a client. The client can exchange it for access
// tokens until it expires.
func (o *OAuth) IssueRefreshToken(clientID string, scopes []string, expires time.Time) (string, error) {
	client := o.findClient(clientID)
	if client == nil {
		return "", fmt.Errorf("client %q is not defined", clientID)
	}
	if scopes == nil {
		scopes = client.Principal.Caller.Scopes
	}
	if beyond := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(client.Principal.Caller.Scopes, s) }); len(beyond) > 0 {
		return "", fmt.Errorf("the client %s has no scope %s", clientID, beyond[0])
	}
	return o.sealToken(o.refresh, client, &grant{Client: clientID, Scopes: scopes, Expires: expires.Unix()})
}

// tokenLifetime returns the lifetime of new access tokens.
func (o *OAuth) tokenLifetime() time.Duration {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.ttl
}

func (o *OAuth) findClient(id string) *Client {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.clients[id]
}

// intersectScopes returns the scopes in both lists; never nil, which would mean all.
func intersectScopes(a, b []string) []string {
	return slices.DeleteFunc(append([]string{}, a...), func(s string) bool { return !slices.Contains(b, s) })
}

// signToken returns the signature of a client's token. It depends on the kind of token and the
// client's secret.
func (o *OAuth) signToken(prefix, payload string, client *Client) []byte {
	mac := hmac.New(sha256.New, o.key)
	for _, part := range []string{prefix, payload, client.Secret.String()} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return mac.Sum(nil)
}

// sealToken writes a token.
func (o *OAuth) sealToken(prefix string, client *Client, g *grant) (string, error) {
	g.ID = uuid.NewString()
	data, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("write a token: %w", err)
	}
	payload := base64.RawURLEncoding.EncodeToString(data)
	return prefix + payload + "." + base64.RawURLEncoding.EncodeToString(o.signToken(prefix, payload, client)), nil
}

// errBadToken is the error for tokens that this server did not issue.
var errBadToken = &server.CredentialError{Problem: "the access token is not one of this server"}

// openToken reads a valid token, or returns why it is invalid.
func (o *OAuth) openToken(prefix, token string) (*grant, *Client, error) {
	payload, signature, ok := strings.Cut(strings.TrimPrefix(token, prefix), ".")
	if !ok || len(token) > maxToken {
		return nil, nil, errBadToken
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(payload)
	if err != nil {
		return nil, nil, errBadToken
	}
	signed, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil {
		return nil, nil, errBadToken
	}
	var g grant
	if json.Unmarshal(data, &g) != nil {
		return nil, nil, errBadToken
	}
	client := o.findClient(g.Client)
	if client == nil || !hmac.Equal(signed, o.signToken(prefix, payload, client)) {
		return nil, nil, errBadToken
	}
	now := o.clock()
	switch {
	case now.Unix() >= g.Expires || client.hasExpired(now):
		return nil, nil, &server.CredentialError{KeyID: g.Client, Problem: "the access token has expired"}
	case o.revoked.isRevoked(&g):
		return nil, nil, &server.CredentialError{KeyID: g.Client, Problem: "the access token was revoked"}
	}
	return &g, client, nil
}

func (c *Client) hasExpired(now time.Time) bool { return !c.Expires.IsZero() && !now.Before(c.Expires) }

// matchesSecret reports whether a secret is the client's. A nil client has none.
func (c *Client) matchesSecret(secret string) bool {
	shown, want := HashKey(secret), KeyHash{}
	if c != nil {
		want = c.Secret
	}
	return subtle.ConstantTimeCompare(shown[:], want[:]) == 1 && c != nil
}
