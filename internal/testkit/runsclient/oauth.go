package runsclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// early is how long before its expiry a token is replaced.
const early = time.Minute

// TokenSource gets access tokens for a refresh token or, without one, for the client itself. It is
// safe for concurrent use.
type TokenSource struct {
	// URL is the address of the server.
	URL                    string
	ClientID, ClientSecret string
	RefreshToken           string
	// HTTP defaults to http.DefaultClient.
	HTTP *http.Client

	mu      sync.Mutex
	token   string
	expires time.Time
	fetched int
}

// OAuthToken is the response of the token endpoint.
type OAuthToken struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// OAuthError is a rejection by the token endpoint.
type OAuthError struct {
	Status      int    `json:"-"`
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// Error explains the missing token.
func (e *OAuthError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Description) }

// Token returns an access token. It gets a new one if the current token is about to expire or was
// refused.
func (s *TokenSource) Token(ctx context.Context, refused bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && !refused && time.Until(s.expires) > early {
		return s.token, nil
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if s.RefreshToken != "" {
		form = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.RefreshToken}}
	}
	got, err := s.Exchange(ctx, form)
	if err != nil {
		return "", err
	}
	if s.RefreshToken != "" && got.RefreshToken != s.RefreshToken {
		return "", &ProtocolError{Problem: "the refresh token is replaced"}
	}
	s.token, s.expires = got.AccessToken, time.Now().Add(time.Duration(got.ExpiresIn)*time.Second)
	s.fetched++
	return s.token, nil
}

// Fetched returns the number of fetched tokens.
func (s *TokenSource) Fetched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetched
}

// Spoil replaces the current token with another one.
func (s *TokenSource) Spoil(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.expires = token, time.Now().Add(time.Hour)
}

// Exchange requests a token.
func (s *TokenSource) Exchange(ctx context.Context, form url.Values) (*OAuthToken, error) {
	var got OAuthToken
	if err := s.postForm(ctx, "/api/oauth/token", form, &got); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(got.AccessToken, "mantyx_at_") || !strings.EqualFold(got.TokenType, "bearer") || got.ExpiresIn <= 0 {
		return nil, &ProtocolError{Problem: fmt.Sprintf("the token is of type %q, for %d s", got.TokenType, got.ExpiresIn)}
	}
	return &got, nil
}

// Revoke ends a token.
func (s *TokenSource) Revoke(ctx context.Context, token string) error {
	return s.postForm(ctx, "/api/oauth/revoke", url.Values{"token": {token}}, new(any))
}

func (s *TokenSource) postForm(ctx context.Context, path string, form url.Values, into any) error {
	form.Set("client_id", s.ClientID)
	form.Set("client_secret", s.ClientSecret)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := cmp.Or(s.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		refused := &OAuthError{Status: resp.StatusCode}
		_ = json.Unmarshal(data, refused)
		return refused
	}
	return json.Unmarshal(data, into)
}
