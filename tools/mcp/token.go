package mcptool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// tokenSource gives the tokens that requests carry. It is safe for concurrent
// use.
type tokenSource interface {
	// token returns the token of the next request, or nothing.
	token(ctx context.Context) (string, error)
	// renew drops a token that the server has refused, and reports whether
	// another one can be had.
	renew(ctx context.Context, refused string) bool
}

// newTokenSource returns the source that a configuration describes. What it
// asks goes through base.
func newTokenSource(a *ServerAuth, base http.RoundTripper) tokenSource {
	switch {
	case a == nil:
		return fixedToken("")
	case a.Type == authBearer:
		return fixedToken(a.Token)
	}
	return &credentials{
		config: clientcredentials.Config{ClientID: a.ClientID, ClientSecret: a.ClientSecret, TokenURL: a.TokenURL, Scopes: a.Scopes},
		client: &http.Client{
			Transport:     base,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		turn: make(chan struct{}, 1),
	}
}

// fixedToken is a token that a configuration holds.
type fixedToken string

func (t fixedToken) token(context.Context) (string, error) { return string(t), nil }

func (fixedToken) renew(context.Context, string) bool { return false }

// credentials gets tokens for a client's id and secret, and keeps each as long
// as it is valid.
type credentials struct {
	config clientcredentials.Config
	client *http.Client
	// turn is held by whoever asks or looks, so that one asks for all.
	turn    chan struct{}
	current *oauth2.Token
}

func (c *credentials) token(ctx context.Context) (string, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.current.Valid() {
		return c.current.AccessToken, nil
	}
	token, err := c.config.Token(context.WithValue(ctx, oauth2.HTTPClient, c.client))
	if err != nil {
		return "", tokenError(err)
	}
	c.current = token
	return token.AccessToken, nil
}

func (c *credentials) renew(ctx context.Context, refused string) bool {
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

// tokenError says why there is no token. What the authorization server wrote is
// left out, apart from its code: it may repeat the request.
func tokenError(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return fmt.Errorf("get a token: %w", err)
	}
	status := "?"
	if refused.Response != nil {
		status = refused.Response.Status
	}
	return fmt.Errorf("get a token: the authorization server answers %s (%s)", status, cleanText(cmp.Or(refused.ErrorCode, "no code"), 80))
}
