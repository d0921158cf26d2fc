package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

const (
	// renewalTime bounds one renewal by one process. Other processes wait that long for it.
	renewalTime = 20 * time.Second
	// renewalPoll is how often a process looks whether another one has renewed a token.
	renewalPoll = 200 * time.Millisecond
	// leastValidity is the minimum remaining validity of a token that is used.
	leastValidity = 10 * time.Second
	// reasonExpired is the reason of a LoginError.
	reasonExpired = "the login has expired"
)

// Session uses a stored login. It renews the token before it expires, in one process at a time,
// because a second use of a refresh token can end the login. It is safe for concurrent use.
type Session struct {
	server Server
	record tools.LoginRecord
	// missing is the error for a missing login, without a reason.
	missing LoginError
	// note is called with whether the login is usable each time that it is read.
	note   func(isUsable bool)
	tokens *credential.Cached[string]

	mu sync.Mutex
	// given is the token of the last fetch, refused the latest rejected token.
	given, refused string
	// secrets are the texts to hide.
	secrets []string
}

var _ auth.OAuthHandler = (*Session)(nil)

// NewSession returns a session of the login in a record. missing names its owner. note is called
// each time that the login is read, with false if a person has to log in.
func NewSession(s Server, r tools.LoginRecord, missing LoginError, note func(isUsable bool)) *Session {
	out := &Session{server: s, record: r, missing: missing, note: note}
	out.tokens = credential.NewCached(func(ctx context.Context) (string, time.Time, error) {
		token, expiry, err := out.fetch(ctx)
		if _, isMissing := errors.AsType[*LoginError](err); isMissing || err == nil {
			note(err == nil)
		}
		return token, expiry, err
	})
	return out
}

// TokenSource returns the tokens of the login. Their error is a *LoginError if there is no login.
func (s *Session) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return tokenFunc(func() (string, error) { return s.tokens.Get(ctx) }), nil
}

// Authorize renews a token that the server has rejected. The error is a *LoginError if that does
// not help.
func (s *Session) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	asked, err := readChallenge(resp)
	if asked == nil || err != nil {
		return err
	}
	used := bearerOf(req)
	kept, _, err := readLogin(ctx, s.record)
	if err != nil {
		return err
	}
	isReplaced := kept != nil && kept.AccessToken != used
	if asked.isStepUp && !isReplaced {
		s.note(false)
		return s.newLoginError("the server asks for more scopes", asked.scopes)
	}
	s.mu.Lock()
	if s.given == used {
		s.refused = used
		s.tokens.Expire()
	}
	s.mu.Unlock()
	_, err = s.tokens.Get(ctx)
	return err
}

// Secrets returns the tokens in use, which must be hidden in the server's texts.
func (s *Session) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets
}

func (s *Session) newLoginError(reason string, scopes []string) *LoginError {
	e := s.missing
	e.Reason, e.Scopes = reason, scopes
	return &e
}

// fetch returns the stored token, renewed if it is due.
func (s *Session) fetch(ctx context.Context) (string, time.Time, error) {
	for {
		kept, text, err := s.loadLogin(ctx)
		if err != nil {
			return "", time.Time{}, err
		}
		if s.isCurrent(kept) {
			return s.give(kept)
		}
		now := time.Now()
		if now.Before(kept.Renewal) {
			if err := wait.For(ctx, renewalPoll); err != nil {
				return "", time.Time{}, err
			}
			continue
		}
		if kept.RefreshToken == "" {
			return s.endLogin(kept)
		}
		kept.Renewal = now.Add(renewalTime).UTC()
		if text, done, err := replaceLogin(ctx, s.record, text, kept); err != nil {
			return "", time.Time{}, err
		} else if done {
			return s.renew(ctx, kept, text)
		}
	}
}

// loadLogin returns the stored login and its text. The error is a *LoginError if absent.
func (s *Session) loadLogin(ctx context.Context) (*login, string, error) {
	kept, text, err := readLogin(ctx, s.record)
	switch {
	case err != nil:
		return nil, "", err
	case kept == nil:
		return nil, "", s.newLoginError("nobody has logged in", nil)
	case kept.Server != s.server.URL:
		return nil, "", s.newLoginError("the login was made for another address of the server", nil)
	default:
		return kept, text, nil
	}
}

// Check returns the stored login. The error is a *LoginError if a person has to log in.
func (s *Session) Check(ctx context.Context) (*tools.LoginResult, error) {
	kept, _, err := s.loadLogin(ctx)
	if err != nil {
		return nil, err
	}
	isExpired := kept.AccessToken == "" || !kept.Expiry.IsZero() && time.Until(kept.Expiry) <= leastValidity
	if kept.RefreshToken == "" && isExpired {
		return nil, s.newLoginError(reasonExpired, nil)
	}
	return kept.result(), nil
}

// isCurrent reports whether a stored token can be used without a renewal. A token that was handed
// out before is due, because Cached requests another one.
func (s *Session) isCurrent(kept *login) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept.AccessToken == "" || kept.AccessToken == s.refused {
		return false
	}
	if kept.Expiry.IsZero() {
		return true
	}
	return kept.AccessToken != s.given && time.Until(kept.Expiry) > leastValidity
}

// give hands out a stored token.
func (s *Session) give(kept *login) (string, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = kept.AccessToken
	s.secrets = hiddenTexts(kept.AccessToken, kept.RefreshToken, kept.ClientSecret)
	return kept.AccessToken, expiryOf(&oauth2.Token{Expiry: kept.Expiry}), nil
}

// endLogin returns a token that cannot be renewed while it is valid, and then a *LoginError.
func (s *Session) endLogin(kept *login) (string, time.Time, error) {
	s.mu.Lock()
	isRefused := kept.AccessToken == s.refused
	s.mu.Unlock()
	switch {
	case isRefused && kept.AccessToken != "":
		return "", time.Time{}, s.newLoginError("the server rejects the token", nil)
	case time.Until(kept.Expiry) > leastValidity:
		return s.give(kept)
	default:
		return "", time.Time{}, s.newLoginError(reasonExpired, nil)
	}
}

// renew requests another token, and stores it replacing the claimed login.
func (s *Session) renew(ctx context.Context, kept *login, text string) (string, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, renewalTime-time.Second)
	defer cancel()
	client := s.server.Client
	client.ID, client.Secret = kept.ClientID, kept.ClientSecret
	params := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {kept.RefreshToken}}
	if kept.Resource != "" {
		params.Set("resource", kept.Resource)
	}
	token, failure := client.requestToken(s.server.withHTTP(ctx), &tokenRequest{url: kept.TokenURL, audience: kept.Issuer, style: kept.AuthStyle, params: params})
	if kept.Renewal = (time.Time{}); failure == nil {
		kept.set(token)
	} else if isEnded(failure) {
		kept.RefreshToken = ""
	}
	// An unstored token is lost, even if the context has ended.
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), renewalTime)
	defer done()
	if _, _, err := replaceLogin(storing, s.record, text, kept); err != nil {
		return "", time.Time{}, err
	}
	switch {
	case failure == nil:
		return s.give(kept)
	case isEnded(failure):
		return "", time.Time{}, s.newLoginError("the login has ended", nil)
	default:
		return "", time.Time{}, failure
	}
}

// isEnded reports whether an authorization server rejects a refresh token permanently.
func isEnded(err error) bool {
	refused, ok := errors.AsType[*credential.TokenError](err)
	return ok && refused.Code == "invalid_grant"
}

// grantedScopes returns the scopes of a token; nil if the authorization server does not name them.
func grantedScopes(token *oauth2.Token) []string {
	scope, ok := token.Extra("scope").(string)
	if !ok {
		return nil
	}
	return strings.Fields(scope)
}
