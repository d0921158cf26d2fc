package auth_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/google/go-cmp/cmp"
)

// authority issues tokens to the clients desk and bot, whose secrets are their
// ids and "-secret".
type authority struct {
	*auth.OAuth
	t   *testing.T
	mux *http.ServeMux
	now time.Time
}

func newClient(id, secret string) auth.Client {
	return auth.Client{Secret: auth.HashKey(secret), Principal: &server.Principal{
		Caller: service.Caller{Tenant: "acme", Subject: id, Agents: service.NewAgentSet([]string{"a*"}), Scopes: []string{"runs:read", "runs:write"}}, KeyID: id,
	}}
}

func newAuthority(t *testing.T, key string) *authority {
	t.Helper()
	return newAuthorityOn(t, key, nil)
}

// newAuthorityOn keeps in a store which tokens are revoked.
func newAuthorityOn(t *testing.T, key string, revocations store.Revocations) *authority {
	t.Helper()
	a := &authority{t: t, mux: http.NewServeMux(), now: tokenTime}
	var err error
	a.OAuth, err = auth.NewOAuth(auth.OAuthSettings{
		Key: []byte(key), TokenTTL: time.Hour, TokenPrefix: "test_", Clock: func() time.Time { return a.now }, Revocations: revocations,
		Clients: []auth.Client{newClient("desk", "desk-secret"), newClient("bot", "bot-secret")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range a.Routes() {
		a.mux.Handle(route.Pattern, route.Handler)
	}
	return a
}

const oneKey = "0123456789abcdef0123456789abcdef"

// tokenReply is what an endpoint answers.
type tokenReply struct {
	Token   string  `json:"access_token"`
	Type    string  `json:"token_type"`
	Expires float64 `json:"expires_in"`
	Refresh string  `json:"refresh_token"`
	Scope   string  `json:"scope"`
	Error   string  `json:"error"`
}

// post sends a form.
func (a *authority) post(path, form string, change ...func(*http.Request)) (int, tokenReply) {
	a.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	a.mux.ServeHTTP(w, r)
	var body tokenReply
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		a.t.Fatalf("%s: %v", w.Body, err)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		a.t.Error("the answer may be kept")
	}
	return w.Code, body
}

const deskForm = "client_id=desk&client_secret=desk-secret"

// token returns an access token of desk.
func (a *authority) token(more string) string {
	a.t.Helper()
	status, body := a.post("/api/oauth/token", deskForm+"&grant_type=client_credentials"+more)
	if status != http.StatusOK || body.Type != "Bearer" || body.Expires != 3600 || body.Refresh != "" {
		a.t.Fatalf("%d %+v", status, body)
	}
	return body.Token
}

// refused checks that a token is not good.
func (a *authority) refused(name, token string) {
	a.t.Helper()
	p, err := a.Authenticate(showing(token))
	if bad, ok := errors.AsType[*server.CredentialError](err); !ok || bad.Unknown || p != nil {
		a.t.Errorf("%s: %v, error %v", name, p, err)
	}
}

func TestAClientExchangesItsSecretForAToken(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, oneKey)
	token := a.token("")
	p, err := a.Authenticate(showing(token))
	if err != nil {
		t.Fatal(err)
	}
	if p.Caller.Tenant != "acme" || p.Caller.Subject != "desk" || p.KeyID != "desk" || !p.Caller.Agents.Has("abc") || p.Caller.Agents.Has("b") || !cmp.Equal(p.Caller.Scopes, []string{"runs:read", "runs:write"}) {
		t.Errorf("%+v", p.Caller)
	}
	if _, err := newAuthority(t, oneKey).Authenticate(showing(token)); err != nil {
		t.Errorf("another process does not take it: %v", err)
	}
	narrow, err := a.Authenticate(showing(a.token("&scope=runs:read")))
	if err != nil || narrow.Caller.HasScope("runs:write") || !narrow.Caller.HasScope("runs:read") {
		t.Errorf("a narrow token has %v, error %v", narrow, err)
	}
	status, _ := a.post("/api/oauth/token", "grant_type=client_credentials", func(r *http.Request) { r.SetBasicAuth("desk", url.QueryEscape("desk-secret")) })
	if status != http.StatusOK {
		t.Errorf("the secret in the header gives %d", status)
	}
}

func TestARefreshTokenGivesAccessTokens(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, oneKey)
	refresh, err := a.IssueRefreshToken("desk", nil, tokenTime.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	status, body := a.post("/api/oauth/token", deskForm+"&grant_type=refresh_token&scope=runs:read&refresh_token="+refresh)
	if status != http.StatusOK || body.Refresh != refresh || body.Scope != "runs:read" {
		t.Fatalf("%d %+v", status, body)
	}
	if _, err := a.Authenticate(showing(body.Token)); err != nil {
		t.Error(err)
	}
	a.refused("a refresh token as an access token", strings.Replace(refresh, "_rt_", "_at_", 1))
	for name, form := range map[string]string{
		"of another client":            "client_id=bot&client_secret=bot-secret&refresh_token=" + refresh,
		"an access token":              deskForm + "&refresh_token=" + body.Token,
		"an access token, called else": deskForm + "&refresh_token=" + strings.Replace(body.Token, "_at_", "_rt_", 1),
		"none":                         deskForm,
	} {
		if status, body := a.post("/api/oauth/token", form+"&grant_type=refresh_token"); status != http.StatusBadRequest || body.Error != "invalid_grant" {
			t.Errorf("%s: %d %+v", name, status, body)
		}
	}
	if _, err := a.IssueRefreshToken("desk", []string{"admin"}, tokenTime); err == nil {
		t.Error("a token has scopes that the client does not have")
	}
	if status, _ := a.post("/api/oauth/revoke", deskForm+"&token="+refresh); status != http.StatusOK {
		t.Errorf("revoking gives %d", status)
	}
	a.refused("of a revoked refresh token", body.Token)
	if status, _ := a.post("/api/oauth/token", deskForm+"&grant_type=refresh_token&refresh_token="+refresh); status != http.StatusBadRequest {
		t.Errorf("a revoked refresh token gives %d", status)
	}
}

func TestRequestsForTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, oneKey)
	grant := "&grant_type=client_credentials"
	for name, tt := range map[string]struct {
		form   string
		change func(*http.Request)
		status int
		code   string
	}{
		"a wrong secret":        {form: "client_id=desk&client_secret=bot-secret" + grant, status: 401, code: "invalid_client"},
		"no secret":             {form: "client_id=desk" + grant, status: 401, code: "invalid_client"},
		"nobody":                {form: "client_id=eve&client_secret=x" + grant, status: 401, code: "invalid_client"},
		"no client":             {form: grant[1:], status: 401, code: "invalid_client"},
		"another grant":         {form: deskForm + "&grant_type=password", status: 400, code: "unsupported_grant_type"},
		"a code of a person":    {form: deskForm + "&grant_type=authorization_code&code=x&code_verifier=y", status: 400, code: "unsupported_grant_type"},
		"no grant":              {form: deskForm, status: 400, code: "invalid_request"},
		"a scope too many":      {form: deskForm + grant + "&scope=runs:read+admin", status: 400, code: "invalid_scope"},
		"a parameter twice":     {form: deskForm + grant + grant, status: 400, code: "invalid_request"},
		"the secret twice":      {form: deskForm + grant, change: func(r *http.Request) { r.SetBasicAuth("desk", "desk-secret") }, status: 400, code: "invalid_request"},
		"JSON":                  {form: "{}", change: func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }, status: 400, code: "invalid_request"},
		"the secret in the URL": {form: grant[1:], change: func(r *http.Request) { r.URL.RawQuery = deskForm }, status: 401, code: "invalid_client"},
		"too long":              {form: deskForm + grant + "&x=" + strings.Repeat("x", 100_000), status: 400, code: "invalid_request"},
	} {
		if tt.change == nil {
			tt.change = func(*http.Request) {}
		}
		if status, body := a.post("/api/oauth/token", tt.form, tt.change); status != tt.status || body.Error != tt.code || body.Token != "" {
			t.Errorf("%s: %d %+v", name, status, body)
		}
	}
}

func TestTokensOfTheServerThatAreNotGood(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, oneKey)
	token := a.token("")
	a.refused("of another key", newAuthority(t, strings.ToUpper(oneKey)).token(""))
	a.refused("cut", token[:len(token)-1])
	a.refused("nothing", "test_at_")
	body, signature, _ := strings.Cut(token, ".")
	a.refused("changed", body[:len(body)-2]+"AA."+signature)
	a.refused("no signature", body+".")
	a.refused("too long", "test_at_"+strings.Repeat("A", 20_000)+".A")
	if status, _ := a.post("/api/oauth/revoke", "client_id=bot&client_secret=bot-secret&token="+token); status != http.StatusOK {
		t.Errorf("revoking the token of another gives %d", status)
	}
	if _, err := a.Authenticate(showing(token)); err != nil {
		t.Errorf("another client has revoked it: %v", err)
	}
	if status, _ := a.post("/api/oauth/revoke", deskForm+"&token="+token); status != http.StatusOK {
		t.Errorf("revoking gives %d", status)
	}
	a.refused("revoked", token)
	if status, _ := a.post("/api/oauth/revoke", deskForm+"&token=nonsense"); status != http.StatusOK {
		t.Errorf("revoking nonsense gives %d", status)
	}
	old := a.token("")
	a.now = a.now.Add(time.Hour)
	a.refused("over", old)
}

// A client that is gone, or has another secret or fewer scopes, takes its tokens
// with it.
func TestTokensEndWithTheirClient(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, oneKey)
	token := a.token("")
	fewer := newClient("desk", "desk-secret")
	fewer.Principal.Caller.Scopes = []string{"runs:read", "metrics:read"}
	a.Configure(time.Hour, []auth.Client{fewer})
	if p, err := a.Authenticate(showing(token)); err != nil || !cmp.Equal(p.Caller.Scopes, []string{"runs:read"}) {
		t.Errorf("it has %v, error %v", p, err)
	}
	a.Configure(time.Hour, []auth.Client{newClient("desk", "desk-new-secret")})
	a.refused("another secret", token)
	over := newClient("desk", "desk-secret")
	over.Expires = a.now
	a.Configure(time.Hour, []auth.Client{over})
	a.refused("an expired client", token)
	a.Configure(time.Hour, nil)
	a.refused("no client", token)
}

// Each kind of credential is judged by those who issued it, and by nobody else.
func TestCredentialsAreNotTakenForOthers(t *testing.T) {
	t.Parallel()
	a, i := newAuthority(t, oneKey), newIssuer(t)
	set, err := auth.ParseKeys(i.set())
	if err != nil {
		t.Fatal(err)
	}
	signed := i.sign("ES256", i.ec, nil, claims(nil))
	parts := strings.SplitN(signed, ".", 2)
	keyed := "eyJ.a.key-of-that-form"
	prefixed := "test_at_a-key-with-the-prefix"
	key := func(id, text string) auth.Key {
		return auth.Key{Hash: auth.HashKey(text), Principal: &server.Principal{KeyID: id}}
	}
	all := auth.NewReplaceable(auth.Chain{
		a, auth.NewKeys([]auth.Key{key("plain", "test-key"), key("dots", keyed), key("prefixed", prefixed)}, nil), accepting(t, set),
	})
	for name, tt := range map[string]struct{ shown, want string }{
		"a key":                               {"test-key", "plain"},
		"a key in the form of a signed token": {keyed, "dots"},
		"a token of the server":               {a.token(""), "desk"},
		"a signed token":                      {signed, "jwt/acme/ann"},
		"a key with the prefix of tokens":     {prefixed, ""},
		"a signed token with the prefix":      {"test_at_" + signed, ""},
		"a token of the server without it":    {strings.TrimPrefix(a.token(""), "test_at_"), ""},
		"a changed signed token":              {parts[0] + "." + "eyK" + parts[1][3:], ""},
		"an unknown key":                      {"test-keys", ""},
		"the hash of a key":                   {auth.HashKey("test-key").String(), ""},
		"nothing":                             {"", ""},
	} {
		for _, header := range []string{"Authorization", "X-Api-Key"} {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			value := tt.shown
			if header == "Authorization" {
				value = "Bearer " + value
			}
			r.Header.Set(header, value)
			p, err := all.Authenticate(r)
			switch {
			case tt.want == "" && (p != nil || !errors.As(err, new(*server.CredentialError))):
				t.Errorf("%s: %v, error %v", name, p, err)
			case tt.want != "" && (err != nil || p.KeyID != tt.want):
				t.Errorf("%s: %v, error %v", name, p, err)
			}
		}
	}
	r := showing("test-key")
	r.Header.Set("X-Api-Key", signed)
	if p, err := all.Authenticate(r); err == nil {
		t.Errorf("two credentials make %s", p.KeyID)
	}
}
