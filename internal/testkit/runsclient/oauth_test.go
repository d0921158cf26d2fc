package runsclient_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

func tokens(p *program) *runsclient.TokenSource {
	return &runsclient.TokenSource{URL: p.url, ClientID: oauthClient, ClientSecret: oauthSecret}
}

func TestARefusedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	p := serve(t)
	source := tokens(p)
	c := runsclient.New(runsclient.Options{URL: p.url, Workspace: workspace, Tokens: source})
	for _, do := range []func() error{
		func() error { _, err := c.Models(t.Context()); return err },
		func() error { _, err := c.Run(t.Context(), ask("hello", "Hi.")); return err },
		func() error {
			made, err := c.Create(t.Context(), ask("hello", "Hi."))
			source.Spoil("mantyx_at_spoilt")
			if err == nil {
				_, err = c.Drive(t.Context(), made.RunID, nil, 0, nil)
			}
			return err
		},
	} {
		before := source.Fetched()
		source.Spoil("mantyx_at_spoilt")
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if source.Fetched() == before {
			t.Error("no token was fetched")
		}
	}
	who, err := c.Identity(t.Context())
	if err != nil || who.Subject == "" || who.Workspace.Slug != workspace {
		t.Errorf("the identity is %+v, %v", who, err)
	}
}

func TestATokenIsGoodForItsScopesOnly(t *testing.T) {
	t.Parallel()
	p := serve(t)
	source := tokens(p)
	for scope, allowed := range map[string]int{"models:read": 0, "runs:read": 1, "runs:write": 2, "sessions:read": 3, "sessions:write": 4, "mantyx.identity:read": 5} {
		got, err := source.Exchange(t.Context(), url.Values{"grant_type": {"client_credentials"}, "scope": {scope}})
		if err != nil || got.Scope != scope {
			t.Fatalf("%s: %+v, %v", scope, got, err)
		}
		c := p.with(got.AccessToken)
		_, models := c.Models(t.Context())
		_, run := c.Snapshot(t.Context(), "nothing")
		_, create := c.Create(t.Context(), object{})
		_, session := c.ResumeSession(t.Context(), "nothing", nil)
		_, newSession := c.CreateSession(t.Context(), runsclient.Spec{})
		_, identity := c.Identity(t.Context())
		for i, err := range []error{models, run, create, session, newSession, identity} {
			var e *runsclient.Error
			errors.As(err, &e)
			if lacks := e != nil && e.Status == 403; lacks == (i == allowed) {
				t.Errorf("%s, request %d: %v", scope, i, err)
			}
			if e == nil || e.Status != 403 {
				continue
			}
			required, _ := e.Body["required"].(string)
			if e.Body["error"] != "insufficient_scope" || required == "" || !strings.HasSuffix(e.Header.Get("WWW-Authenticate"), `error="insufficient_scope", scope="`+required+`"`) {
				t.Errorf("%s: %v, %v", scope, e.Body, e.Header)
			}
		}
	}
}

func TestTokensAreRefusedAsOAuthSays(t *testing.T) {
	t.Parallel()
	source := tokens(serve(t))
	wrong := tokens(serve(t))
	wrong.ClientSecret = "mantyx_oas_wrong"
	for name, tt := range map[string]struct {
		source *runsclient.TokenSource
		form   url.Values
		status int
		code   string
	}{
		"a wrong secret":          {wrong, url.Values{"grant_type": {"client_credentials"}}, 401, "invalid_client"},
		"an unknown grant":        {source, url.Values{"grant_type": {"password"}}, 400, "unsupported_grant_type"},
		"a refresh token of none": {source, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"mantyx_rt_nothing"}}, 400, "invalid_grant"},
	} {
		_, err := tt.source.Exchange(t.Context(), tt.form)
		e := new(runsclient.OAuthError)
		if !errors.As(err, &e) || e.Status != tt.status || e.Code != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARevokedTokenIsRefused(t *testing.T) {
	t.Parallel()
	p := serve(t)
	source := tokens(p)
	got, err := source.Exchange(t.Context(), url.Values{"grant_type": {"client_credentials"}})
	if err != nil {
		t.Fatal(err)
	}
	c := p.with(got.AccessToken)
	if _, err := c.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := source.Revoke(t.Context(), got.AccessToken); err != nil {
			t.Error(err)
		}
	}
	if err := source.Revoke(t.Context(), "nothing"); err != nil {
		t.Error(err)
	}
	_, err = c.Models(t.Context())
	refused(t, err, 401, "unauthorized")
}

func TestARefreshTokenStaysWhatItIs(t *testing.T) {
	t.Parallel()
	p := serve(t)
	source := tokens(p)
	out, err := runtimeCommand(t, "keys", "refresh", configuration(), scripts(), oauthClient)
	if err != nil {
		t.Fatal(err)
	}
	if source.RefreshToken = strings.TrimSpace(out); !strings.HasPrefix(source.RefreshToken, "mantyx_rt_") {
		t.Fatalf("the refresh token is %q", out)
	}
	c := runsclient.New(runsclient.Options{URL: p.url, Workspace: workspace, Tokens: source})
	if _, err := c.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := source.Token(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := source.Token(t.Context(), true); err != nil || second == first {
		t.Errorf("the second token is the first, %v", err)
	}
	if _, err := p.with(first).Models(t.Context()); err != nil {
		t.Errorf("the first token is dead: %v", err)
	}
}
