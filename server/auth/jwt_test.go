package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

var tokenTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// issuer is an issuer of tokens that a test plays.
type issuer struct {
	t   testing.TB
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	one, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	two, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t, one, two}
}

// set returns its public keys.
func (i *issuer) set() []byte {
	i.t.Helper()
	data, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: i.rsa.Public(), KeyID: "r1", Algorithm: "RS256", Use: "sig"}, {Key: i.ec.Public(), KeyID: "e1"},
	}})
	if err != nil {
		i.t.Fatal(err)
	}
	return data
}

// sign returns a token.
func (i *issuer) sign(alg jose.SignatureAlgorithm, key any, header map[string]string, claims map[string]any) string {
	i.t.Helper()
	options := new(jose.SignerOptions)
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	if err != nil {
		i.t.Fatal(err)
	}
	data, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(data)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// claims returns those of a good token, with changes; nil takes one away.
func claims(changes map[string]any) map[string]any {
	all := map[string]any{
		"iss": "https://id.example", "aud": []string{"other", "agents"}, "sub": "ann", "org": "acme",
		"exp": tokenTime.Add(time.Hour).Unix(), "iat": tokenTime.Unix(), "scope": "runs:read runs:write",
	}
	for name, value := range changes {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return all
}

// accepting returns the authenticator of the issuer's tokens.
func accepting(t testing.TB, keys auth.KeySource) *auth.JWT {
	t.Helper()
	j, err := auth.NewJWT(auth.JWTSettings{
		Issuer: "https://id.example", Audience: "agents", Keys: keys, Algorithms: []string{"RS256", "ES256"},
		TenantClaim: "org", SubjectClaim: "sub", ScopesClaim: "scope", Clock: func() time.Time { return tokenTime },
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// showing returns a request with a bearer token.
func showing(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestATokenSaysWhoShowsIt(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	keys, err := auth.ParseKeys(i.set())
	if err != nil {
		t.Fatal(err)
	}
	j := accepting(t, keys)
	for name, token := range map[string]string{
		"by RSA":            i.sign(jose.RS256, i.rsa, map[string]string{"kid": "r1", "typ": "at+jwt"}, claims(nil)),
		"by ECDSA":          i.sign(jose.ES256, i.ec, map[string]string{"kid": "e1", "typ": "JWT"}, claims(nil)),
		"without a key id":  i.sign(jose.ES256, i.ec, nil, claims(nil)),
		"one audience":      i.sign(jose.ES256, i.ec, nil, claims(map[string]any{"aud": "agents"})),
		"a list of scopes":  i.sign(jose.ES256, i.ec, nil, claims(map[string]any{"scope": []string{"runs:read", "runs:write"}})),
		"a clock behind":    i.sign(jose.ES256, i.ec, nil, claims(map[string]any{"exp": tokenTime.Add(-30 * time.Second).Unix()})),
		"a clock before it": i.sign(jose.ES256, i.ec, nil, claims(map[string]any{"nbf": tokenTime.Add(30 * time.Second).Unix()})),
	} {
		p, err := j.Authenticate(showing(token))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Caller.Tenant != "acme" || p.Caller.Subject != "ann" || p.KeyID != "jwt/acme/ann" || !cmp.Equal(p.Caller.Scopes, []string{"runs:read", "runs:write"}) {
			t.Errorf("%s: %+v", name, p.Caller)
		}
	}
	p, err := j.Authenticate(showing(i.sign(jose.ES256, i.ec, nil, claims(map[string]any{"scope": nil}))))
	if err != nil || p.Caller.Scopes == nil || p.Caller.HasScope("runs:read") {
		t.Errorf("a token without scopes has some: %v", err)
	}
}

// What an attacker can make of tokens and of public keys is no good token.
func TestTokensThatAreNotGood(t *testing.T) {
	t.Parallel()
	i, other := newIssuer(t), newIssuer(t)
	keys, err := auth.ParseKeys(i.set())
	if err != nil {
		t.Fatal(err)
	}
	j := accepting(t, keys)
	public := x509.MarshalPKCS1PublicKey(&i.rsa.PublicKey)
	good := i.sign(jose.ES256, i.ec, nil, claims(nil))
	part := strings.Split(good, ".")
	raw := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	changed := func(name string, value any) string {
		return i.sign(jose.ES256, i.ec, map[string]string{"kid": "e1"}, claims(map[string]any{name: value}))
	}
	for name, token := range map[string]string{
		"the public key as a secret":       i.sign(jose.HS256, public, map[string]string{"kid": "r1"}, claims(nil)),
		"no algorithm":                     raw(`{"alg":"none"}`) + "." + part[1] + ".",
		"no algorithm, spelt oddly":        raw(`{"alg":"nOnE"}`) + "." + part[1] + "." + part[2],
		"no signature":                     part[0] + "." + part[1] + ".",
		"another signature":                part[0] + "." + part[1] + "." + strings.Split(other.sign(jose.ES256, other.ec, nil, claims(nil)), ".")[2],
		"other claims":                     part[0] + "." + raw(`{"iss":"https://id.example","aud":"agents","sub":"eve","org":"acme","exp":9999999999}`) + "." + part[2],
		"the key of somebody else":         other.sign(jose.RS256, other.rsa, map[string]string{"kid": "r1"}, claims(nil)),
		"a key of its own":                 other.sign(jose.ES256, jose.JSONWebKey{Key: other.ec, KeyID: "x"}, nil, claims(nil)),
		"an algorithm that is not allowed": i.sign(jose.PS256, i.rsa, map[string]string{"kid": "r1"}, claims(nil)),
		"an extension nobody knows":        raw(`{"alg":"ES256","crit":["x"],"x":1}`) + "." + part[1] + "." + part[2],
		"a token for something else":       i.sign(jose.ES256, i.ec, map[string]string{"typ": "logout+jwt"}, claims(nil)),
		"a key that is not there":          i.sign(jose.ES256, i.ec, map[string]string{"kid": "e9"}, claims(nil)),
		"another issuer":                   changed("iss", "https://id.example/"),
		"no issuer":                        changed("iss", nil),
		"another audience":                 changed("aud", "other"),
		"no audience":                      changed("aud", nil),
		"over":                             changed("exp", tokenTime.Add(-2*time.Minute).Unix()),
		"for ever":                         changed("exp", nil),
		"not yet":                          changed("nbf", tokenTime.Add(2*time.Minute).Unix()),
		"from the future":                  changed("iat", tokenTime.Add(2*time.Minute).Unix()),
		"no subject":                       changed("sub", nil),
		"a subject that is a number":       changed("sub", 7),
		"a subject with a line break":      changed("sub", "a\nb"),
		"a tenant that is too long":        changed("org", strings.Repeat("a", 300)),
		"no tenant":                        changed("org", nil),
		"scopes that are a number":         changed("scope", 7),
		"too long":                         "eyJ." + strings.Repeat("a", 20_000) + ".b",
		"nonsense":                         "eyJ.eyJ.x",
	} {
		p, err := j.Authenticate(showing(token))
		bad, ok := errors.AsType[*server.CredentialError](err)
		if !ok || bad.Unknown || bad.Missing || p != nil {
			t.Errorf("%s: %v, error %v", name, p, err)
		} else if strings.Contains(bad.Problem, part[2]) {
			t.Errorf("%s: the problem shows the token", name)
		}
	}
}

func TestAlgorithmsOfSecretsAreNotAllowed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"none", "None", "HS256", "hs512"} {
		_, err := auth.NewJWT(auth.JWTSettings{
			Issuer: "i", Audience: "a", Keys: auth.FixedKeys{}, Algorithms: []string{"RS256", name}, Tenant: "t", SubjectClaim: "sub",
		})
		if err == nil {
			t.Errorf("%s is allowed", name)
		}
	}
}

func TestKeySetsHoldPublicKeysThatSign(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	for name, key := range map[string]jose.JSONWebKey{
		"a secret":       {Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: "s"},
		"a private key":  {Key: i.ec, KeyID: "p"},
		"for encryption": {Key: i.rsa.Public(), KeyID: "e", Use: "enc"},
	} {
		data, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}})
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := auth.ParseKeys(data); err == nil {
			t.Errorf("%s: %d keys", name, len(keys))
		}
	}
	mixed := strings.Replace(string(i.set()), `"keys":[`, `"keys":[{"kty":"XYZ"},7,`, 1)
	if keys, err := auth.ParseKeys([]byte(mixed)); err != nil || len(keys) != 2 {
		t.Errorf("%d keys, error %v", len(keys), err)
	}
}

func TestRemoteKeysAreAskedForSparingly(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	var asked atomic.Int32
	var down atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(i.set())
	}))
	defer s.Close()
	now := tokenTime
	keys := auth.NewRemoteKeys(s.URL, s.Client(), func() time.Time { return now })
	find := func(id string, want int) {
		t.Helper()
		found, err := keys.Find(context.Background(), id)
		if err != nil || len(found) != want {
			t.Errorf("%d keys, error %v", len(found), err)
		}
	}
	count := func(want int32) {
		t.Helper()
		if got := asked.Load(); got != want {
			t.Errorf("the issuer was asked %d times, want %d", got, want)
		}
	}
	find("r1", 1)
	for range 100 {
		find("made-up", 0)
		find("e1", 1)
	}
	count(1)
	now = now.Add(31 * time.Second)
	find("e1", 1)
	count(1)
	find("made-up", 0)
	find("made-up-too", 0)
	count(2)
	down.Store(true)
	now = now.Add(5 * time.Minute)
	find("r1", 1) // what was known counts on
	find("r1", 1)
	count(3)
	none := auth.NewRemoteKeys(s.URL, s.Client(), func() time.Time { return now })
	for range 3 {
		if _, err := none.Find(context.Background(), "r1"); err == nil {
			t.Error("nobody knows the keys, and there is no error")
		}
	}
	count(4)
	if _, err := accepting(t, none).Authenticate(showing(i.sign(jose.ES256, i.ec, nil, claims(nil)))); err == nil || errors.As(err, new(*server.CredentialError)) {
		t.Errorf("a token that nobody can check now gives %v", err)
	}
}

// FuzzToken shows anything as a token.
func FuzzToken(f *testing.F) {
	i := newIssuer(f)
	keys, err := auth.ParseKeys(i.set())
	if err != nil {
		f.Fatal(err)
	}
	j := accepting(f, keys)
	good := i.sign(jose.ES256, i.ec, nil, claims(nil))
	f.Add(good + "x")
	f.Add("eyJ..")
	f.Fuzz(func(t *testing.T, token string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["X-Api-Key"] = []string{token}
		if p, err := j.Authenticate(r); err == nil && !strings.HasPrefix(token, good[:strings.LastIndex(good, ".")]) {
			t.Errorf("%q is accepted as %v", token, p.Caller)
		}
	})
}
