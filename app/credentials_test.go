package app

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/spec"
)

// rightKey is a valid key for the tests.
const rightKey = "ark_right-right-right"

func TestCredentialsAreSwapped(t *testing.T) {
	t.Parallel()
	set := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(set, []byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	began := &settings.Server{
		EncryptionKey: base64.StdEncoding.EncodeToString(make([]byte, 32)),
		OAuth:         &settings.ServerOAuth{Clients: []settings.OAuthClient{{ID: "desk", Secret: "desk-secret-desk-secret", Scopes: spec.Names{"s"}}}},
		JWT:           &settings.ServerJWT{Issuer: "https://id.example", Audience: "agents", JWKSFile: set},
	}
	c, err := newCredentials(new(auth.Replaceable), began, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := func(key string) error {
		r, _ := http.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-Api-Key", key)
		_, err := c.accepted.Authenticate(r)
		return err
	}
	swap, err := c.prepareSwap(&settings.Server{Keys: []settings.ServerKey{{ID: "ci", Key: rightKey}}})
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
	if _, err := c.prepareSwap(&settings.Server{Keys: []settings.ServerKey{{ID: "ci", Hash: "sha256:x"}}}); err == nil {
		t.Error("a hash that is none is taken")
	}
	began.JWT.JWKSFile += ".gone"
	if _, err := c.prepareSwap(began); err == nil || !strings.Contains(err.Error(), "keys.json.gone") {
		t.Errorf("keys that are not there give %v", err)
	}
}

// A reload while the issuer is unavailable must not lock out all callers.
func TestTheKeysOfAnIssuerOutliveAReload(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
	}))
	t.Cleanup(issuer.Close)
	config := &settings.Server{JWT: &settings.ServerJWT{Issuer: "https://id.example", Audience: "agents", JWKSURL: issuer.URL}}
	c, err := newCredentials(new(auth.Replaceable), config, "", nil, nil)
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
	swap, err := c.prepareSwap(config)
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
	if swap, err = c.prepareSwap(&settings.Server{JWT: &moved}); err != nil {
		t.Fatal(err)
	}
	swap()
	show()
	if n := asked.Load(); n != 2 {
		t.Errorf("keys at another place are asked for %d times", n-1)
	}
}

func TestTheServerOfAConfiguration(t *testing.T) {
	t.Parallel()
	day := &settings.Date{}
	if err := day.UnmarshalText([]byte("2026-12-31")); err != nil {
		t.Fatal(err)
	}
	hash := auth.HashKey(rightKey)
	key, err := apiKey(&settings.ServerKey{ID: "ci", Hash: hash.String(), Agents: spec.Names{"a*"}, Scopes: spec.Names{"s"}, Expires: day})
	if err != nil || key.Hash != hash || key.Principal.KeyID != "ci" || key.Principal.Caller.Subject != "ci" || key.Principal.Caller.Tenant != "default" ||
		!key.Principal.Caller.Agents.Has("ab") || key.Principal.Caller.Agents.Has("b") || key.Principal.Caller.HasScope("t") || !key.Expires.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", key, err)
	}
	if key, err := apiKey(&settings.ServerKey{ID: "ci", Key: rightKey}); err != nil || key.Hash != hash || !key.Expires.IsZero() {
		t.Errorf("%+v, %v", key, err)
	}
	if _, err := newCredentials(new(auth.Replaceable), &settings.Server{Keys: []settings.ServerKey{{ID: "ci", Hash: "sha256:x"}}}, "", nil, nil); err == nil || !strings.Contains(err.Error(), "key ci: a hash is") {
		t.Error(err)
	}
	made := serverSettings(&settings.Server{CORSOrigins: []string{"https://x"}, PublicURL: "https://y", AllowUnauthenticated: true, Rate: settings.ServerRate{PerSecond: 1, Burst: 2, Concurrency: 3}})
	if made.Authenticator != nil || made.Address != settings.DefaultListen || made.Limits.MaxBodyBytes != settings.DefaultMaxBodyBytes ||
		made.Limits.WriteTimeout != settings.DefaultWriteTimeout || made.Rate != (server.Rate{PerSecond: 1, Burst: 2, Concurrency: 3}) ||
		!made.AllowUnauthenticated || made.PublicURL != "https://y" || len(made.CORSOrigins) != 1 {
		t.Errorf("%+v", made)
	}
}
