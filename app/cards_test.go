package app_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	serverKey    = "ark_right-right-right"
	clientSecret = "desk-secret-desk-secret"
)

// guarded declares an agent for callers with the credentials in a bit set: keys, issuer tokens and
// clients.
func guarded(accepted int) string {
	text := "version: 1\nproviders: {s: {type: scripted}}\nmodels: {m: {provider_id: s, upstream_model: x}}\nagents: {clerk: {description: Answers., model_id: m}}\nstore: {driver: memory}\n" +
		"server:\n  encryption_key: " + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n  a2a: {grpc_listen: \"127.0.0.1:0\"}\n"
	for i, part := range []string{
		"  keys: [{id: ci, key: " + serverKey + "}]\n",
		"  jwt: {issuer: \"https://id.example\", audience: agents, jwks_file: ./keys.json}\n",
		"  oauth: {clients: [{id: desk, secret: " + clientSecret + ", scopes: [\"a2a:invoke\"]}]}\n",
	} {
		if accepted&(1<<i) != 0 {
			text += part
		}
	}
	return text
}

// issuedToken returns a token of the issuer, whose keys it writes beside a
// configuration.
func issuedToken(t *testing.T, file string) string {
	t.Helper()
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public(), KeyID: "k", Algorithm: "EdDSA", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	writeBeside(t, file, "keys.json", string(keys))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: "k"}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": "https://id.example", "aud": "agents", "sub": "ann", "scope": "a2a:invoke", "exp": time.Now().Add(time.Hour).Unix(),
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// issuedAccess returns an access token from the address on a card, or "" if the card has no
// address.
func issuedAccess(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.PostForm(address, url.Values{"grant_type": {"client_credentials"}, "client_id": {"desk"}, "client_secret": {clientSecret}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var issued struct {
		Token string `json:"access_token"`
	}
	if json.NewDecoder(resp.Body).Decode(&issued) != nil {
		return ""
	}
	return issued.Token
}

// cardOf returns a card as an SDK client reads it.
func cardOf(t *testing.T, base string) *apb.AgentCard {
	t.Helper()
	_, _, text := request(t, base, "GET /a2a/clerk/.well-known/agent-card.json", true)
	card := new(apb.AgentCard)
	// Empty scopes are an empty array, which the SDKs read.
	if err := protojson.Unmarshal([]byte(strings.ReplaceAll(text, `":[]}}`, `":{}}}`)), card); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return card
}

// headersOf returns the header with a credential for each scheme of a card. A client knows
// nothing about a scheme but its declaration.
func headersOf(t *testing.T, base string, card *apb.AgentCard, token string) map[string]http.Header {
	t.Helper()
	shown := map[string]http.Header{}
	for name, scheme := range card.GetSecuritySchemes() {
		switch s := scheme.GetScheme().(type) {
		case *apb.SecurityScheme_HttpAuthSecurityScheme:
			credential := map[string]string{"": serverKey, "JWT": token}[s.HttpAuthSecurityScheme.GetBearerFormat()]
			shown[name] = http.Header{"Authorization": {s.HttpAuthSecurityScheme.GetScheme() + " " + credential}}
		case *apb.SecurityScheme_ApiKeySecurityScheme:
			if s.ApiKeySecurityScheme.GetLocation() != "header" {
				t.Errorf("a key is shown in the %s", s.ApiKeySecurityScheme.GetLocation())
			}
			shown[name] = http.Header{s.ApiKeySecurityScheme.GetName(): {serverKey}}
		case *apb.SecurityScheme_Oauth2SecurityScheme:
			at, ok := strings.CutPrefix(s.Oauth2SecurityScheme.GetFlows().GetClientCredentials().GetTokenUrl(), publicURL)
			if !ok {
				t.Errorf("tokens are to be had at %q", at)
			}
			shown[name] = http.Header{"Authorization": {"Bearer " + issuedAccess(t, base+at)}}
		default:
			t.Errorf("the scheme %s is %v", name, scheme)
		}
	}
	return shown
}

// lets returns the transports that accept a request with a header.
func lets(t *testing.T, base string, header http.Header) []string {
	t.Helper()
	var in []string
	for name, text := range map[string]string{"JSON-RPC": "POST /a2a/clerk", "REST": "GET /a2a/clerk/tasks"} {
		method, path, _ := strings.Cut(text, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header.Clone()
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("A2A-Version", "1.0")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			in = append(in, name)
		case http.StatusUnauthorized:
		default:
			t.Errorf("%s answers with %d", name, resp.StatusCode)
		}
	}
	client, ctx := grpcClient(t, base)
	md := metadata.Pairs("a2a-version", "1.0")
	for name, values := range header {
		md.Append(name, values...)
	}
	_, err := client.ListTasks(metadata.NewOutgoingContext(ctx, md), &apb.ListTasksRequest{Tenant: "clerk"})
	switch status.Code(err) {
	case codes.OK:
		in = append(in, "gRPC")
	case codes.Unauthenticated:
	default:
		t.Errorf("gRPC answers with %v", err)
	}
	slices.Sort(in)
	return in
}

// checkSchemes verifies that a card's schemes match the accepted credentials: each scheme's
// credential is accepted, and no other credential is.
func checkSchemes(t *testing.T, name, base, token string, accepted int) {
	t.Helper()
	card := cardOf(t, base)
	everywhere := []string{"JSON-RPC", "REST", "gRPC"}
	shown := headersOf(t, base, card, token)
	for scheme, header := range shown {
		if in := lets(t, base, header); !slices.Equal(in, everywhere) {
			t.Errorf("%s: a credential of the scheme %s is let in over %v alone", name, scheme, in)
		}
	}
	var required []string
	for _, r := range card.GetSecurityRequirements() {
		required = append(required, slices.Collect(maps.Keys(r.GetSchemes()))...)
	}
	slices.Sort(required)
	if got := slices.Sorted(maps.Keys(shown)); !slices.Equal(got, required) {
		t.Errorf("%s: the card shows %v and requires one of %v", name, got, required)
	}
	offered := map[string]bool{} // by what is shown
	for _, header := range shown {
		for name, values := range header {
			offered[http.CanonicalHeaderKey(name)+kindOf(values[0])] = true
		}
	}
	for kind, header := range map[string]http.Header{
		"Authorizationkey": {"Authorization": {"Bearer " + serverKey}}, "X-Api-Keykey": {"X-Api-Key": {serverKey}},
		"Authorizationtoken":  {"Authorization": {"Bearer " + token}},
		"Authorizationaccess": {"Authorization": {"Bearer " + issuedAccess(t, base+"/api/oauth/token")}},
		"nothing":             {},
	} {
		want := offered[kind] || accepted == 0
		if in := lets(t, base, header); want != (len(in) > 0) {
			t.Errorf("%s: %s is let in over %v, and the card shows it: %v", name, kind, in, want)
		}
	}
}

// kindOf distinguishes the credentials of the tests.
func kindOf(shown string) string {
	switch {
	case strings.HasSuffix(shown, serverKey):
		return "key"
	case strings.HasPrefix(strings.TrimPrefix(shown, "Bearer "), "eyJ"):
		return "token"
	default:
		return "access"
	}
}

// A server's cards state exactly the credentials that it accepts, even after the configuration
// changes at run time.
func TestCardsShowTheCredentialsThatAreLetIn(t *testing.T) {
	file := write(t, guarded(0))
	token := issuedToken(t, file)
	for accepted := range 8 {
		writeBeside(t, file, "config.yaml", guarded(accepted))
		a, base := openServed(t, file)
		name := fmt.Sprintf("%03b", accepted)
		checkSchemes(t, name, base, token, accepted)
		if accepted == 0 {
			if len(cardOf(t, base).GetSecuritySchemes()) != 0 {
				t.Error("the card shows credentials where none is needed")
			}
			continue // the need for one is decided at startup
		}
		for next := 1; next < 8; next++ {
			writeBeside(t, file, "config.yaml", guarded(next))
			components := shipped.Components()
			loaded, _, err := config.Load([]string{file}, config.Options{Kinds: components.ConfigKinds()})
			if err != nil {
				t.Fatal(err)
			}
			swap, err := a.Prepare(&loaded.Server)
			if err != nil {
				t.Fatal(err)
			}
			swap()
			checkSchemes(t, fmt.Sprintf("%s, then %03b", name, next), base, token, next)
		}
	}
}

// The card shows the configured provider and proxy.
func TestCardsNameTheProviderAndTheAddressOfTheConfiguration(t *testing.T) {
	file := write(t, strings.Replace(guarded(1), "a2a: {", "a2a: {organization: ACME, organization_url: \"https://acme.example\", grpc_address: \"grpc.acme.example:443\", ", 1))
	_, base := openServed(t, file)
	card := cardOf(t, base)
	if p := card.GetProvider(); p.GetOrganization() != "ACME" || p.GetUrl() != "https://acme.example" {
		t.Errorf("the provider is %v", p)
	}
	found := false
	for _, i := range card.GetSupportedInterfaces() {
		if i.GetProtocolBinding() == "GRPC" {
			found = true
			if i.GetUrl() != "grpc.acme.example:443" || i.GetTenant() != "clerk" {
				t.Errorf("gRPC is spoken at %v", i)
			}
		} else if !strings.HasPrefix(i.GetUrl(), publicURL+"/a2a/") {
			t.Errorf("the interface is %v", i)
		}
	}
	if !found {
		t.Error("the card has no gRPC")
	}
}

// openServed opens an app and serves it, including gRPC, until the test ends.
func openServed(t *testing.T, file string) (a *app.App, base string) {
	t.Helper()
	a, err := app.Open(t.Context(), app.Options{Files: []string{file}, PublicURL: publicURL, Components: shipped.Components()})
	if err != nil {
		t.Fatal(err)
	}
	own := httptest.NewServer(a.Handler())
	serving, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Server().Serve(serving) }() // gRPC
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := a.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		own.Close()
	})
	return a, own.URL
}
