package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/rogpeppe/go-internal/testscript"
)

// withClients issues tokens at the server.
const withClients = guarded + `  encryption_key: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
  oauth:
    clients: [{id: desk, secret: desk-secret-desk-secret, scopes: [metrics:read]}, {id: bot, secret: bot-secret-bot-secret, scopes: [a2a:invoke]}]
`

// issue asks for a token.
func issue(t *testing.T, url, form string) (status int, token string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/oauth/token", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body.Token
}

// scraped returns the status of the metrics for a credential.
func scraped(t *testing.T, url, shown string) (status int, challenge string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+shown)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("WWW-Authenticate")
}

// form sends a form; the token in the answer, if any, is in the variable TOKEN then:
// "form STATUS URL FORM".
func form(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: form STATUS URL FORM")
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, args[1], strings.NewReader(args[2]))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	var body struct {
		Token string `json:"access_token"`
	}
	ts.Check(json.NewDecoder(resp.Body).Decode(&body))
	if body.Token != "" {
		ts.Setenv("TOKEN", body.Token)
	}
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("the status is %s, want %s", resp.Status, args[0])
	}
}

// answers fetches a page again and again until it has a status: "answers STATUS URL
// HEADER".
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: answers STATUS URL HEADER")
	}
	name, value, _ := strings.Cut(args[2], ": ")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(storeTime); ; {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, args[1], http.NoBody)
		ts.Check(err)
		req.Header.Set(name, value)
		resp, err := http.DefaultClient.Do(req)
		ts.Check(err)
		_ = resp.Body.Close()
		if strconv.Itoa(resp.StatusCode) == args[0] {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("the status is %s, want %s", resp.Status, args[0])
		}
	}
}

func TestAConfiguredClientGetsTokens(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, withClients, oneReply)
	status, token := issue(t, s.LocalURL(), "grant_type=client_credentials&client_id=desk&client_secret=desk-secret-desk-secret")
	if status != http.StatusOK || !strings.HasPrefix(token, "mantyx_at_") {
		t.Fatalf("%d %q", status, token)
	}
	if status, _ := scraped(t, s.LocalURL(), token); status != http.StatusOK {
		t.Errorf("the token gives %d", status)
	}
	_, narrow := issue(t, s.LocalURL(), "grant_type=client_credentials&client_id=bot&client_secret=bot-secret-bot-secret")
	if status, challenge := scraped(t, s.LocalURL(), narrow); status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope", scope="metrics:read"`) {
		t.Errorf("a token without the scope gives %d, %s", status, challenge)
	}
	if status, _ := issue(t, s.LocalURL(), "grant_type=client_credentials&client_id=desk&client_secret=wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong secret gives %d", status)
	}
	if status, _ := scraped(t, s.LocalURL(), rightKey); status != http.StatusOK {
		t.Errorf("a key gives %d", status)
	}
}

func TestCredentialsAreSwapped(t *testing.T) {
	t.Parallel()
	set := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(set, []byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	began := &spec.Server{
		EncryptionKey: base64.StdEncoding.EncodeToString(make([]byte, 32)),
		OAuth:         &spec.ServerOAuth{Clients: []spec.OAuthClient{{ID: "desk", Secret: "desk-secret-desk-secret", Scopes: spec.Names{"s"}}}},
		JWT:           &spec.ServerJWT{Issuer: "https://id.example", Audience: "agents", JWKSFile: set},
	}
	c, err := newCredentials(began, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := func(key string) error {
		r, _ := http.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-Api-Key", key)
		_, err := c.accepted.Authenticate(r)
		return err
	}
	swap, err := c.prepare(&spec.Server{Keys: []spec.ServerKey{{ID: "ci", Key: rightKey}}})
	if err != nil {
		t.Fatal(err)
	}
	if shown(rightKey) == nil {
		t.Error("a key counts before it is swapped in")
	}
	swap()
	if err := shown(rightKey); err != nil {
		t.Error(err)
	}
	if _, err := c.prepare(&spec.Server{Keys: []spec.ServerKey{{ID: "ci", Hash: "sha256:x"}}}); err == nil {
		t.Error("a hash that is none is taken")
	}
	began.JWT.JWKSFile += ".gone"
	if _, err := c.prepare(began); err == nil || !strings.Contains(err.Error(), "keys.json.gone") {
		t.Errorf("keys that are not there give %v", err)
	}
}

// An issuer that is away must not keep everybody out because somebody reloads.
func TestTheKeysOfAnIssuerOutliveAReload(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
	}))
	t.Cleanup(issuer.Close)
	config := &spec.Server{JWT: &spec.ServerJWT{Issuer: "https://id.example", Audience: "agents", JWKSURL: issuer.URL}}
	c, err := newCredentials(config, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	show := func() {
		t.Helper()
		r, _ := http.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Authorization", "Bearer eyJhbGciOiJFZERTQSJ9.e30.AAAA")
		if _, err := c.accepted.Authenticate(r); !errors.As(err, new(*server.CredentialError)) {
			t.Errorf("a token that nobody has signed gives %v", err)
		}
	}
	show()
	swap, err := c.prepare(config)
	if err != nil {
		t.Fatal(err)
	}
	swap()
	show()
	if n := asked.Load(); n != 1 {
		t.Errorf("the issuer is asked %d times", n)
	}
	moved := *config.JWT
	moved.JWKSURL += "/elsewhere"
	if swap, err = c.prepare(&spec.Server{JWT: &moved}); err != nil {
		t.Fatal(err)
	}
	swap()
	show()
	if n := asked.Load(); n != 2 {
		t.Errorf("keys at another place are asked for %d times", n-1)
	}
}
