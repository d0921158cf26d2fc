package mcp

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/oauthtest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
)

// vault keeps logins in memory. Its views are for tenants and subjects.
type vault struct {
	mu    sync.Mutex
	texts map[string]string
}

func newVault() *vault { return &vault{texts: map[string]string{}} }

func (v *vault) of(tenant, subject string) *tools.TenantVariables {
	return &tools.TenantVariables{Source: &vaultView{TenantValues: nil, vault: v, tenant: tenant, subject: subject}}
}

type vaultView struct {
	tools.TenantValues
	*vault
	tenant, subject string
}

func (v *vaultView) TenantName() string  { return v.tenant }
func (v *vaultView) SubjectName() string { return v.subject }
func (v *vaultView) LoginRecord(server, subject string) tools.LoginRecord {
	return &vaultRecord{v.vault, v.tenant + "|" + server + "|" + subject}
}

type vaultRecord struct {
	*vault
	key string
}

func (r *vaultRecord) Read(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts[r.key], nil
}

func (r *vaultRecord) Replace(_ context.Context, old, text string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.texts[r.key] != old {
		return false, nil
	}
	r.texts[r.key] = text
	return true, nil
}

func loginConfig(t *testing.T, w *oauthtest.World) config {
	t.Helper()
	return config{URL: w.URL, Auth: &serverAuth{Type: authLogin}, Catalog: filepath.Join(t.TempDir(), "c.json")}
}

func logInAs(t *testing.T, w *oauthtest.World, s *server, who *tools.TenantVariables, scopes ...string) {
	t.Helper()
	done, err := s.LogIn(t.Context(), &tools.LoginRequest{Tenant: who, Scopes: scopes, Show: w.Browse})
	if err != nil || done.ListError != nil {
		t.Fatal(err, done)
	}
	if done.Issuer != w.Issuer || done.Tools != 3 || done.IsRenewable == w.NoRefresh {
		t.Errorf("the login is %+v", done)
	}
}

// callFor calls a tool for a tenant.
func callFor(t *testing.T, s *server, who *tools.TenantVariables, name, arguments string) (string, bool) {
	t.Helper()
	entry := entries(t, s)[toolID(s.Prefix(), name)]
	if entry == nil {
		t.Fatalf("there is no tool %s", name)
	}
	r := entry.Execute(t.Context(), &tools.Call{ID: "1", Tool: entry.ID, Arguments: json.RawMessage(arguments), Host: new(host), Tenant: who})
	return model.PartsText(r.Content), !r.IsError
}

func wantCall(t *testing.T, s *server, who *tools.TenantVariables, name, want string) {
	t.Helper()
	if got, ok := callFor(t, s, who, name, `{"text":"hello"}`); !ok || got != want {
		t.Errorf("%s says %q (ok %t), want %q", name, got, ok, want)
	}
}

func wantLogin(t *testing.T, s *server, who *tools.TenantVariables, name, want string) {
	t.Helper()
	if got, ok := callFor(t, s, who, name, `{"text":"hello"}`); ok || !strings.Contains(got, "login required") || !strings.Contains(got, want) {
		t.Errorf("%s says %q (ok %t), want a login with %q", name, got, ok, want)
	}
}

func TestATenantsCallsUseItsLogin(t *testing.T) {
	t.Parallel()
	w, v := oauthtest.New(t), newVault()
	s := start(t, loginConfig(t, w))
	acme, globex := v.of("acme", "ann"), v.of("globex", "bob")
	logInAs(t, w, s, acme)
	wantCall(t, s, acme, "echo", "hello")
	wantCall(t, s, v.of("acme", "another subject"), "echo", "hello")
	wantCall(t, s, acme, "leak", "Bearer ***")
	wantLogin(t, s, globex, "echo", "runtime login FILE fake --tenant globex")
	if got := s.Connections(); got.LoggedOut != 1 || !strings.HasSuffix(got.String(), "; 1 must log in") {
		t.Errorf("the connections are %s", got)
	}
	wantLogin(t, s, nil, "echo", "the store of the configuration")
	before := w.Seen()
	logInAs(t, w, s, globex)
	wantCall(t, s, globex, "echo", "hello")
	if got := s.Connections(); got.LoggedOut != 0 {
		t.Errorf("the connections are %s", got)
	}
	for _, token := range w.Seen()[len(before):] {
		if slices.Contains(before, token) && token != "" {
			t.Errorf("a request of globex has a token of acme")
		}
	}
	w.Revoke(true)
	wantLogin(t, s, acme, "echo", "the login has ended")
	wantLogin(t, s, acme, "echo", "--tenant acme")
	if got := s.Connections(); got.LoggedOut == 0 { // globex may notice it, too
		t.Errorf("the connections are %s", got)
	}
}

func TestALoginOfASubjectServesNoOther(t *testing.T) {
	t.Parallel()
	w, v := oauthtest.New(t), newVault()
	c := loginConfig(t, w)
	c.Auth.Per = perSubject
	s := start(t, c)
	logInAs(t, w, s, v.of("acme", "ann"))
	wantCall(t, s, v.of("acme", "ann"), "echo", "hello")
	wantLogin(t, s, v.of("acme", "bob"), "echo", "--tenant acme --subject bob")
	wantLogin(t, s, v.of("globex", "ann"), "echo", "--tenant globex --subject ann")
	wantLogin(t, s, v.of("acme", ""), "echo", "no subject")
}

func TestALoginCountsForItsAddressAlone(t *testing.T) {
	t.Parallel()
	w, other, v := oauthtest.New(t), oauthtest.New(t), newVault()
	c := loginConfig(t, w)
	logInAs(t, w, start(t, c), v.of("acme", ""))
	c.URL = other.URL
	data, err := os.ReadFile(c.Catalog)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, c)
	known, err := decodeCatalog(data)
	if err != nil {
		t.Fatal(err)
	}
	s.setCatalog(known)
	wantLogin(t, s, v.of("acme", ""), "echo", "another address")
	if seen := other.Seen(); len(seen) > 0 {
		t.Errorf("the other server was sent %q", seen)
	}
}

// TestARefreshTokenIsUsedOnce has three processes renew a token at the same time. The
// authorization server ends a login whose refresh token is used twice.
func TestARefreshTokenIsUsedOnce(t *testing.T) {
	t.Parallel()
	w, v := oauthtest.New(t), newVault()
	c, who := loginConfig(t, w), v.of("acme", "")
	servers := []*server{start(t, c)}
	logInAs(t, w, servers[0], who)
	servers = append(servers, start(t, c), start(t, c))
	for range 3 {
		for _, s := range servers {
			wantCall(t, s, who, "echo", "hello")
		}
		w.Revoke(false)
		var all sync.WaitGroup
		for _, s := range servers {
			for range 5 {
				all.Go(func() { wantCall(t, s, who, "echo", "hello") })
			}
		}
		all.Wait()
	}
	renewals := 0
	for _, r := range w.Requests() {
		if r.Get("grant_type") == "refresh_token" {
			renewals++
		}
	}
	if renewals != 3 {
		t.Errorf("%d renewals", renewals)
	}
}

func TestATokenIsRenewedBeforeItExpires(t *testing.T) {
	t.Parallel()
	w, v := oauthtest.New(t), newVault()
	w.Lifetime = 5 // less than a token must still be valid to be used
	c, who := loginConfig(t, w), v.of("acme", "")
	s := start(t, c)
	logInAs(t, w, s, who)
	before := len(w.Requests())
	wantCall(t, s, who, "echo", "hello")
	if len(w.Requests()) == before {
		t.Error("an expiring token is used")
	}
	w.NoRefresh, w.Lifetime = true, 3600
	logInAs(t, w, s, who)
	w.Revoke(false)
	wantLogin(t, s, who, "echo", "the server rejects the token")
}

func TestALoginWithMoreScopesCountsAtOnce(t *testing.T) {
	t.Parallel()
	w, v := oauthtest.New(t), newVault()
	w.Scopes, w.Rights = []string{"read"}, []string{"all.write"}
	c, who := loginConfig(t, w), v.of("acme", "")
	s := start(t, c)
	logInAs(t, w, s, who)
	wantCall(t, s, who, "echo", "hello")
	wantLogin(t, s, who, "write", "--scope read --scope all.write")
	wantCall(t, s, who, "echo", "hello")
	logInAs(t, w, s, who, "all.write")
	wantCall(t, s, who, "write", "wrote hello")
}

func clientConfig(t *testing.T, w *oauthtest.World) config {
	t.Helper()
	return config{URL: w.URL, Catalog: filepath.Join(t.TempDir(), "c.json"), Auth: &serverAuth{Type: authClientCredentials, ClientID: "known", ClientSecret: w.Secret}}
}

func TestAClientFindsItsAuthorizationServer(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func(*oauthtest.World, *config){
		"basic": func(*oauthtest.World, *config) {},
		"JWT": func(w *oauthtest.World, c *config) {
			w.Key = &key.PublicKey
			c.Auth.ClientSecret, c.Auth.PrivateKey = "", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oauthtest.New(t)
			w.Scopes, w.Rights = []string{"read"}, []string{"write"}
			c := clientConfig(t, w)
			prepare(w, &c)
			s := ready(t, c)
			wantCall(t, s, nil, "echo", "hello")
			wantCall(t, s, nil, "write", "wrote hello") // with more scopes
			wantCall(t, s, nil, "leak", "Bearer ***")
			requests := w.Requests()
			if got := []string{requests[0].Get("scope"), requests[1].Get("scope")}; len(requests) != 2 || !slices.Equal(got, []string{"read", "read write"}) {
				t.Errorf("the requests are %v", requests)
			}
			w.Revoke(false)
			wantCall(t, s, nil, "write", "wrote hello")
		})
	}
}

func TestConfiguredScopesAreALimit(t *testing.T) {
	t.Parallel()
	w := oauthtest.New(t)
	w.Scopes, w.Rights = []string{"read"}, []string{"write"}
	c := clientConfig(t, w)
	c.Auth.Scopes = []string{"read"}
	s := ready(t, c)
	if got, ok := callFor(t, s, nil, "write", `{}`); ok || !strings.Contains(got, "the scopes write, which auth.scopes does not list") {
		t.Errorf("write says %q", got)
	}
	wantCall(t, s, nil, "echo", "hello")
}

// TestMetadataOfAServerIsNotTrusted has servers publish documents that lead elsewhere.
func TestMetadataOfAServerIsNotTrusted(t *testing.T) {
	t.Parallel()
	redirect := func(to string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Location", to)
			rw.WriteHeader(http.StatusFound)
		}
	}
	huge := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"padding":"`)
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range 10 {
			_, _ = rw.Write(chunk)
		}
		_, _ = io.WriteString(rw, `"}`)
	}
	set := func(name string, value any) func(map[string]any) { return func(m map[string]any) { m[name] = value } }
	for name, tt := range map[string]struct {
		path    string
		change  func(map[string]any)
		replace http.HandlerFunc
		want    string
	}{
		"a redirect to the metadata service":          {path: oauthtest.ResourcePath, replace: redirect("http://169.254.169.254/latest/meta-data"), want: "302"},
		"a redirect of the authorization server":      {path: oauthtest.AuthorityPath, replace: redirect("http://169.254.169.254/latest"), want: "302"},
		"another resource":                            {path: oauthtest.ResourcePath, change: set("resource", "https://bank.example/mcp"), want: "bank.example"},
		"another issuer":                              {path: oauthtest.AuthorityPath, change: set("issuer", "https://bank.example"), want: "bank.example"},
		"10 MB of resource metadata":                  {path: oauthtest.ResourcePath, replace: huge, want: "its metadata cannot be used"},
		"10 MB of authorization server metadata":      {path: oauthtest.AuthorityPath, replace: huge, want: "authorization server cannot be used"},
		"an authorization server in a link-local net": {path: oauthtest.ResourcePath, change: set("authorization_servers", []string{"https://169.254.169.254"}), want: "non-public"},
		"a private authorization server":              {path: oauthtest.ResourcePath, change: set("authorization_servers", []string{"https://10.0.0.1:9"}), want: "non-public"},
		"an authorization server without TLS":         {path: oauthtest.ResourcePath, change: set("authorization_servers", []string{"http://auth.example"}), want: "HTTPS"},
		"no authorization server":                     {path: oauthtest.ResourcePath, change: set("authorization_servers", []string{}), want: "names no authorization server"},
		"no PKCE":                                     {path: oauthtest.AuthorityPath, change: set("code_challenge_methods_supported", []string{"plain"}), want: "S256"},
		"a script as the authorization endpoint":      {path: oauthtest.AuthorityPath, change: set("authorization_endpoint", "javascript:alert(1)"), want: "disallowed scheme"},
		"a private token endpoint":                    {path: oauthtest.AuthorityPath, change: set("token_endpoint", "https://10.0.0.1:9/token"), want: "non-public"},
		"too many scopes":                             {path: oauthtest.ResourcePath, change: set("scopes_supported", strings.Split(strings.Repeat("x", 100), "")), want: "too many scopes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oauthtest.New(t)
			if tt.change != nil {
				w.Metadata[tt.path] = tt.change
			}
			if tt.replace != nil {
				w.Documents[tt.path] = tt.replace
			}
			login := start(t, loginConfig(t, w))
			_, err := login.LogIn(t.Context(), &tools.LoginRequest{Tenant: newVault().of("acme", ""), Show: func(string) { t.Error("the person is asked") }})
			for kind, err := range map[string]error{"login": err, "client": start(t, clientConfig(t, w)).Refresh(t.Context())} {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "mcp server fake: ") {
					t.Errorf("%s: the error is %v", kind, err)
				}
			}
			if requests := w.Requests(); len(requests) > 0 {
				t.Errorf("tokens were requested: %v", requests)
			}
		})
	}
}

// TestARedirectWithAnotherStateIsIgnored opens the landing page as a hostile page would.
func TestARedirectWithAnotherStateIsIgnored(t *testing.T) {
	t.Parallel()
	w, v := oauthtest.New(t), newVault()
	s := start(t, loginConfig(t, w))
	get := func(address string, query url.Values) {
		resp, err := http.Get(address + "?" + query.Encode()) //nolint:noctx // a test
		if err != nil {
			t.Error(err)
			return
		}
		_ = resp.Body.Close()
	}
	show := func(after func(redirect string, state string)) func(string) {
		return func(address string) {
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			redirect, state := u.Query().Get("redirect_uri"), u.Query().Get("state")
			go func() {
				get(redirect, url.Values{"code": {"stolen"}, "state": {"guessed"}})
				get(redirect, url.Values{"error": {"access_denied"}})
				get(strings.Replace(redirect, "/callback", "/", 1), url.Values{"code": {"x"}, "state": {state}})
				if after != nil {
					after(redirect, state)
					return
				}
				w.Browse(address)
			}()
		}
	}
	if done, err := s.LogIn(t.Context(), &tools.LoginRequest{Tenant: v.of("acme", ""), Show: show(nil)}); err != nil || done.ListError != nil {
		t.Fatal(err, done)
	}
	for want, query := range map[string]url.Values{
		"the person said no": {"error": {"access_denied"}, "error_description": {"the person said no"}},
		"issuer":             {"code": {"x"}, "iss": {"https://elsewhere.example"}},
	} {
		_, err := s.LogIn(t.Context(), &tools.LoginRequest{Tenant: v.of("acme", ""), Show: show(func(redirect, state string) {
			query.Set("state", state)
			get(redirect, query)
		})})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	wantCall(t, s, v.of("acme", ""), "echo", "hello") // the login of before counts
}

func TestTokensAreNotShown(t *testing.T) {
	t.Parallel()
	w, v := oauthtest.New(t), newVault()
	log := new(logText)
	c, who := loginConfig(t, w), v.of("acme", "")
	s := startWith(t, c, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	logInAs(t, w, s, who)
	shown := log.String()
	for _, name := range []string{"echo", "leak"} {
		got, _ := callFor(t, s, who, name, `{"text":"hello"}`)
		shown += got
	}
	w.Revoke(true)
	got, _ := callFor(t, s, who, "echo", `{"text":"hello"}`)
	shown += got
	c.Auth.Token, c.Auth.PrivateKey = "access-token", "private-key-text"
	explained, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := os.ReadFile(c.Catalog)
	if err != nil {
		t.Fatal(err)
	}
	shown += string(explained) + string(catalog) + log.String()
	for _, secret := range append(w.Secrets(), "private-key-text", "access-token") {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown in\n%s", secret, shown)
		}
	}
}

// logText is what was logged.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds a text.
func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all that was logged.
func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestSettingsOfOAuth(t *testing.T) {
	t.Parallel()
	for want, auth := range map[string]serverAuth{
		"auth.private_key":         {Type: authClientCredentials, ClientID: "x", PrivateKey: "no key"},
		"auth.client_secret":       {Type: authClientCredentials, ClientID: "x"},
		"auth.client_id":           {Type: authLogin, ClientSecret: "s"},
		"auth.scopes":              {Type: authLogin, Scopes: []string{"a b"}},
		"auth.redirect_url":        {Type: authLogin, RedirectURL: "http://attacker.example:80/x"},
		"auth.client_metadata_url": {Type: authLogin, ClientURL: "http://agents.example/client.json"},
		"auth.per":                 {Type: authLogin, Per: "group"},
		"auth.type":                {Type: "oauth"},
	} {
		c := config{URL: "https://mcp.example", Auth: &auth}
		if list := c.Validate(); len(list) != 1 || list[0].Path != want {
			t.Errorf("%s: %v", want, list)
		}
	}
}

func TestARedirectStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	for redirect, allowed := range map[string]bool{
		"http://127.0.0.1:80/x": true, "http://localhost:80/x": true, "http://[::1]:80/x": true,
		"http://127.attacker.example:80/x": false, "http://localhost.attacker.example:80/x": false,
	} {
		c := config{URL: "https://mcp.example", Auth: &serverAuth{Type: authLogin, RedirectURL: redirect}}
		if list := c.Validate(); (len(list) == 0) != allowed {
			t.Errorf("%s: %v", redirect, list)
		}
	}
}

func TestALoginErrorCanBeMatched(t *testing.T) {
	t.Parallel()
	s := start(t, loginConfig(t, oauthtest.New(t)))
	err := s.RefreshFor(t.Context(), newVault().of("acme", ""))
	if missing, ok := errors.AsType[*oauth.LoginError](err); !ok || missing.Server != "fake" || missing.Tenant != "acme" {
		t.Errorf("the error is %v", err)
	}
	if err := s.Refresh(t.Context()); !isLoginError(err) {
		t.Errorf("the error without a tenant is %v", err)
	}
}

// TestAServerCannotAddToTheCommand has a server ask for scopes that a shell would execute.
func TestAServerCannotAddToTheCommand(t *testing.T) {
	t.Parallel()
	w, v := oauthtest.New(t), newVault()
	w.Rights = []string{"a;reboot", "$(reboot)", "it's"}
	s, who := start(t, loginConfig(t, w)), v.of("acme", "")
	logInAs(t, w, s, who)
	wantLogin(t, s, who, "write", `--scope 'a;reboot' --scope '$(reboot)' --scope 'it'\''s'`)
}

func TestALogoutRevokesTheTokens(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change  func(map[string]any)
		revoked bool
		problem string
	}{
		"revocation":               {nil, true, ""},
		"no revocation":            {func(d map[string]any) { delete(d, "revocation_endpoint") }, false, ""},
		"an endpoint without TLS":  {func(d map[string]any) { d["revocation_endpoint"] = "http://elsewhere.example/revoke" }, false, "is not an https URL"},
		"an endpoint that is gone": {func(d map[string]any) { d["revocation_endpoint"] = d["token_endpoint"].(string) + "/gone" }, false, "status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oauthtest.New(t)
			s := start(t, loginConfig(t, w))
			v := newVault()
			acme, other := v.of("acme", ""), v.of("other", "")
			logInAs(t, w, s, acme)
			logInAs(t, w, s, other)
			if tt.change != nil {
				w.Metadata[oauthtest.AuthorityPath] = tt.change
			}
			done, err := s.LogOut(t.Context(), acme)
			if err != nil || done == nil || done.Issuer != w.Issuer || done.IsRevoked != tt.revoked {
				t.Fatalf("%+v, %v", done, err)
			}
			if problem := done.RevokeError; (problem != nil) != (tt.problem != "") || problem != nil && !strings.Contains(problem.Error(), tt.problem) {
				t.Errorf("the problem is %v", problem)
			}
			if n := w.Revoked(); n != map[bool]int{true: 2}[tt.revoked] {
				t.Errorf("%d tokens are revoked", n)
			}
			if done, err = s.LogOut(t.Context(), acme); done != nil || err != nil {
				t.Errorf("again: %+v, %v", done, err)
			}
			wantLogin(t, s, acme, "echo", "nobody has logged in")
			wantCall(t, s, other, "echo", "hello")
		})
	}
}
