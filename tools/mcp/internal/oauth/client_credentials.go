package oauth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// clientCredentials gets tokens for a client that acts for itself, and renews each before it
// expires. It is safe for concurrent use.
type clientCredentials struct {
	server Server
	// turn is held by the caller that authorizes on behalf of all callers.
	turn chan struct{}

	mu      sync.Mutex
	current *clientGrant
	// token is the latest token, kept to hide it in the server's texts.
	token string
}

// clientGrant is a proven way to get tokens. It is immutable.
type clientGrant struct {
	found  *metadata
	scopes []string
	tokens *credential.Cached[string]
}

var _ auth.OAuthHandler = (*clientCredentials)(nil)

// NewClientCredentials returns the tokens of a client. Without a token URL, the first rejection
// by the server starts the discovery.
func NewClientCredentials(s Server) *clientCredentials {
	c := &clientCredentials{server: s, turn: make(chan struct{}, 1)}
	if s.Client.TokenURL != "" {
		c.current = c.newGrant(&metadata{tokenURL: s.Client.TokenURL}, s.Client.Scopes)
	}
	return c
}

// newGrant returns a grant whose tokens are not requested yet.
func (c *clientCredentials) newGrant(found *metadata, scopes []string) *clientGrant {
	client := c.server.Client
	return &clientGrant{found: found, scopes: scopes, tokens: credential.NewCached(func(ctx context.Context) (string, time.Time, error) {
		request := &tokenRequest{url: found.tokenURL, audience: found.issuer, style: authStyle(found.methods), scopes: scopes, params: url.Values{}}
		if found.resource != "" {
			request.params.Set("resource", found.resource)
		}
		if request.audience == "" { // a configured token URL
			request.audience, request.style = found.tokenURL, oauth2.AuthStyleAutoDetect
		}
		token, err := client.requestToken(c.server.withHTTP(ctx), request)
		if err != nil {
			return "", time.Time{}, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.token = token.AccessToken
		return token.AccessToken, expiryOf(token), nil
	})}
}

// unknownLifetime is how long a token is used if its lifetime is not stated.
const unknownLifetime = time.Hour

func expiryOf(token *oauth2.Token) time.Time {
	if token.Expiry.IsZero() {
		return time.Now().Add(unknownLifetime)
	}
	return token.Expiry
}

func (c *clientCredentials) grant() *clientGrant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// TokenSource returns the current token; nil until the server has required one.
func (c *clientCredentials) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	current := c.grant()
	if current == nil {
		return nil, nil //nolint:nilnil // the contract of the interface
	}
	return tokenFunc(func() (string, error) { return current.tokens.Get(ctx) }), nil
}

// Authorize gets another token after a rejection, with more scopes if the server requires them.
func (c *clientCredentials) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	asked, err := readChallenge(resp)
	if asked == nil || err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.turn }()
	current := c.grant()
	if current != nil {
		if token, err := current.tokens.Get(ctx); err == nil && token != bearerOf(req) {
			return nil // another caller has replaced it
		}
	}
	next, err := c.replaceGrant(ctx, current, asked)
	if err != nil {
		return err
	}
	if _, err := next.tokens.Get(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = next
	return nil
}

// replaceGrant returns the grant that satisfies a challenge. Configured scopes are a limit.
func (c *clientCredentials) replaceGrant(ctx context.Context, current *clientGrant, asked *challenge) (*clientGrant, error) {
	limit := c.server.Client.Scopes
	if lacking := missingScopes(asked.scopes, limit); asked.isStepUp && len(limit) > 0 && len(lacking) > 0 {
		return nil, &scopeError{lacking, "which auth.scopes does not list"}
	}
	if asked.isStepUp && current != nil && len(missingScopes(asked.scopes, current.scopes)) == 0 {
		return nil, &scopeError{asked.scopes, "which its authorization server does not grant"}
	}
	if c.server.Client.TokenURL != "" {
		return c.newGrant(&metadata{tokenURL: c.server.Client.TokenURL}, limit), nil
	}
	found, err := c.server.discover(ctx, asked)
	if err != nil {
		return nil, err
	}
	scopes := limit
	if len(limit) == 0 {
		if scopes = asked.scopes; len(scopes) == 0 {
			scopes = found.scopes
		}
		if current != nil {
			scopes = addScopes(current.scopes, scopes)
		}
	}
	if len(scopes) > maxScopes {
		return nil, errTooManyScopes
	}
	return c.newGrant(found, slices.Clone(scopes)), nil
}

// Secrets returns the current token.
func (c *clientCredentials) Secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return hiddenTexts(c.token)
}

// bearerOf returns the token that a request carried.
func bearerOf(req *http.Request) string {
	return strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
}
