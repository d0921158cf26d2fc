package cli

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/service"
)

// bearer returns the header of a credential.
func bearer(shown string) http.Header { return http.Header{"Authorization": {"Bearer " + shown}} }

// stranger is a caller without a valid credential.
type stranger struct {
	header http.Header
	// query is added to the path.
	query string
	// silent is set if the request has no credential although it could have one.
	silent bool
}

// strangers returns all variants of callers without a valid credential.
func (w *town) strangers(t *testing.T) map[string]stranger {
	t.Helper()
	all := map[string]stranger{
		"no credential":           {silent: true},
		"a key in the query":      {silent: true, query: "access_token=" + annKey + "&api_key=" + annKey + "&key=" + annKey + "&token=" + annKey},
		"a key in a cookie":       {silent: true, header: http.Header{"Cookie": {"Authorization=" + annKey + "; X-API-Key=" + annKey}}},
		"another proxy's header":  {silent: true, header: http.Header{"X-Forwarded-User": {"ann"}, "Proxy-Authorization": {"Bearer " + annKey}}},
		"a wrong key":             {header: bearer("ark_wrong-wrong-wrong")},
		"an expired key":          {header: bearer(lateKey)},
		"the beginning of a key":  {header: bearer(annKey[:len(annKey)-1])},
		"more than a key":         {header: bearer(annKey + "x")},
		"a key in another case":   {header: bearer(strings.ToUpper(annKey))},
		"a hash of a key":         {header: bearer(auth.HashKey(annKey).String())},
		"an empty key":            {header: http.Header{"X-Api-Key": {""}}},
		"an empty token":          {header: http.Header{"Authorization": {"Bearer "}}},
		"another scheme":          {header: http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+annKey))}}},
		"a key without a scheme":  {header: http.Header{"Authorization": {annKey}}},
		"two keys":                {header: http.Header{"Authorization": {"Bearer " + annKey}, "X-Api-Key": {eveKey}}},
		"a good and a wrong key":  {header: http.Header{"Authorization": {"Bearer " + annKey}, "X-Api-Key": {"wrong"}}},
		"two tokens":              {header: http.Header{"Authorization": {"Bearer " + annKey, "Bearer " + annKey}}},
		"two tokens in one":       {header: bearer(annKey + ", Bearer " + annKey)},
		"two keys of one kind":    {header: http.Header{"X-Api-Key": {annKey, annKey}}},
		"the secret of a client":  {header: bearer(botSecret)},
		"no token of this server": {header: bearer("mantyx_at_e30.AAAA")},
		"a JWT that is none":      {header: bearer("eyJhbGciOiJFZERTQSJ9.e30.AAAA")},
	}
	for name, shown := range w.badTokens(t) {
		all[name] = stranger{header: bearer(shown)}
	}
	return all
}

// badTokens returns tokens that are almost valid or once were.
func (w *town) badTokens(t *testing.T) map[string]string {
	t.Helper()
	_, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	but := func(claim string, value any) map[string]any {
		claims := w.claims("acme", "ann", w.scopes...)
		claims[claim] = value
		if value == nil {
			delete(claims, claim)
		}
		return claims
	}
	good := w.claims("acme", "ann", w.scopes...)
	public, _ := w.issuer.Public().(ed25519.PublicKey)
	payload, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	none := func(alg string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
	}
	signedOff, tail, _ := strings.Cut(signed(t, jose.EdDSA, w.issuer, good), ".")
	_, signature, _ := strings.Cut(tail, ".")
	past := time.Now().Add(-time.Hour).Unix()
	list := map[string]string{
		"an expired JWT":                     signed(t, jose.EdDSA, w.issuer, but("exp", past)),
		"a JWT without an end":               signed(t, jose.EdDSA, w.issuer, but("exp", nil)),
		"a JWT of tomorrow":                  signed(t, jose.EdDSA, w.issuer, but("nbf", time.Now().Add(time.Hour).Unix())),
		"a JWT for somebody else":            signed(t, jose.EdDSA, w.issuer, but("aud", "others")),
		"a JWT for nobody":                   signed(t, jose.EdDSA, w.issuer, but("aud", nil)),
		"a JWT of another issuer":            signed(t, jose.EdDSA, w.issuer, but("iss", "https://evil.example")),
		"a JWT without a tenant":             signed(t, jose.EdDSA, w.issuer, but("org", nil)),
		"a JWT without a subject":            signed(t, jose.EdDSA, w.issuer, but("sub", nil)),
		"a JWT of another key":               signed(t, jose.EdDSA, other, good),
		"a JWT that the public key made":     signed(t, jose.HS256, []byte(public), good),
		"a JWT that nobody signed":           none("none"),
		"a JWT that nobody signed, in caps":  none("NONE"),
		"a JWT with somebody's signature":    signedOff + "." + base64.RawURLEncoding.EncodeToString(payload[:len(payload)-1]) + "." + signature,
		"an access token that has expired":   w.access(t, encryptionKey, time.Now().Add(-2*time.Hour)),
		"an access token of another server":  w.access(t, base64.StdEncoding.EncodeToString(make([]byte, 32)), time.Now()),
		"an access token that was revoked":   w.revoked(t),
		"a refresh token":                    w.refresh(t),
		"an access token of another program": strings.Replace(w.access(t, encryptionKey, time.Now()), ".", "x.", 1),
	}
	w.secrets = append(w.secrets, list["an access token that was revoked"], list["a refresh token"])
	return list
}

// clients returns the configured clients as another server knows them.
func clients() []auth.Client {
	return []auth.Client{{Secret: auth.HashKey(botSecret), Principal: &server.Principal{
		Caller: service.Caller{Tenant: "acme", Subject: "ann", Scopes: []string{"runs:read"}}, KeyID: "bot",
	}}}
}

// access returns an access token as issued by a server with a key at a given time.
func (w *town) access(t *testing.T, key string, at time.Time) string {
	t.Helper()
	return tokenOf(t, issuing(t, key, at))
}

func issuing(t *testing.T, key string, at time.Time) *auth.OAuth {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	o, err := auth.NewOAuth(auth.OAuthSettings{Key: raw, TokenTTL: time.Hour, Clients: clients(), Clock: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *town) refresh(t *testing.T) string {
	t.Helper()
	token, err := issuing(t, encryptionKey, time.Now()).IssueRefreshToken("bot", nil, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

const botForm = "grant_type=client_credentials&client_id=bot&client_secret=" + botSecret

// tokenOf requests a token from an issuer.
func tokenOf(t *testing.T, o *auth.OAuth) string {
	t.Helper()
	i := slices.IndexFunc(o.Routes(), func(r server.Route) bool { return strings.HasSuffix(r.Pattern, "/token") })
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(botForm))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	out := httptest.NewRecorder()
	o.Routes()[i].Handler.ServeHTTP(out, r)
	var body struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(out.Body.Bytes(), &body); err != nil || body.Token == "" {
		t.Fatalf("%d %s", out.Code, out.Body)
	}
	return body.Token
}

// revoked returns a revoked access token of the server.
func (w *town) revoked(t *testing.T) string {
	t.Helper()
	status, token := issue(t, w.LocalURL(), botForm)
	if status != http.StatusOK {
		t.Fatal(status)
	}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	runs := "/api/v1/workspaces/acme/agent-runs/none"
	if got := w.ask(t, http.MethodGet, runs, "", bearer(token)); got.status != http.StatusNotFound {
		t.Fatalf("a fresh token gives %d %s", got.status, got.body)
	}
	if got := w.ask(t, http.MethodPost, "/api/oauth/revoke", "token="+token+"&client_id=bot&client_secret="+botSecret, form); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return token
}
