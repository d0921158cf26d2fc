package credential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Client is a client of an authorization server that obtains tokens with its id and secret.
type Client struct {
	ID, Secret string
	// TokenURL is the token endpoint of the authorization server.
	TokenURL string
	// Scopes are the requested scopes of the tokens.
	Scopes []string

	_ struct{} // keyed literals only
}

// ClientCredentials adds a client's tokens to requests, and keeps each token while it is valid. It
// calls the authorization server through base, with one request for all waiters, and follows no
// redirect.
func ClientCredentials(c Client, base http.RoundTripper) Credential {
	return &client{
		config: clientcredentials.Config{ClientID: c.ID, ClientSecret: c.Secret, TokenURL: c.TokenURL, Scopes: c.Scopes},
		http: &http.Client{
			Transport:     base,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		turn: make(chan struct{}, 1),
	}
}

type client struct {
	config clientcredentials.Config
	http   *http.Client
	// turn is held by the caller that requests or looks up a token: one requests for all.
	turn    chan struct{}
	current *oauth2.Token
}

// Set adds a token to a request, and requests one if it has none.
func (c *client) Set(req *http.Request) (string, error) {
	token, err := c.fetchToken(req.Context())
	if err != nil {
		return "", err
	}
	setBearer(req, token)
	return token, nil
}

func (c *client) fetchToken(ctx context.Context) (string, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-c.turn }()
	if c.current.Valid() {
		return c.current.AccessToken, nil
	}
	token, err := c.config.Token(context.WithValue(ctx, oauth2.HTTPClient, c.http))
	if err != nil {
		return "", ExplainTokenError(err)
	}
	c.current = token
	return token.AccessToken, nil
}

// Renew discards a rejected token, unless another one has replaced it.
func (c *client) Renew(ctx context.Context, refused string) bool {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-c.turn }()
	if c.current != nil && c.current.AccessToken == refused {
		c.current = nil
	}
	return true
}

// maxCode is the maximum length shown of an authorization server's error code.
const maxCode = 80

// ExplainTokenError explains a missing token. It includes only the code from the authorization
// server's response, because the rest may repeat the request.
func ExplainTokenError(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		if asked, ok := errors.AsType[*url.Error](err); ok {
			err = asked.Err // callers of agents must not see the URL
		}
		return fmt.Errorf("get a token: %w", err)
	}
	e := &TokenError{Status: "?", Code: printableText(refused.ErrorCode[:min(len(refused.ErrorCode), maxCode)])}
	if refused.Response != nil {
		e.Status = printableText(refused.Response.Status)
	}
	return e
}

// TokenError reports that an authorization server rejected a request for a token.
type TokenError struct {
	// Status is the status line, and Code the error code of the response, which may be empty.
	Status, Code string
}

// Error shows the status and the code.
func (e *TokenError) Error() string {
	return fmt.Sprintf("get a token: the authorization server answers %s (%s)", e.Status, cmp.Or(e.Code, "no code"))
}

// printableText returns a text without characters that could alter its display.
func printableText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
}
