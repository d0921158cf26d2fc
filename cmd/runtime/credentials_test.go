package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
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
	c, err := newCredentials(began)
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
