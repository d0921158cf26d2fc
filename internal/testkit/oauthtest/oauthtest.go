// Package oauthtest provides a remote MCP server that requires tokens, with its authorization
// server. Both check every parameter of each request.
package oauthtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// World is an MCP server and its authorization server.
type World struct {
	t testing.TB
	// URL is the MCP server's URL, and Issuer the authorization server's.
	URL, Issuer string

	mu sync.Mutex
	// Lifetime is the expires_in of new tokens; 0 omits it.
	Lifetime int
	// Scopes are the scopes that the MCP server requires for every request, and Rights those that
	// the tool write requires.
	Scopes, Rights []string
	// Metadata changes the servers' documents before they are sent, by path.
	Metadata map[string]func(map[string]any)
	// Documents replaces whole answers, by path.
	Documents map[string]http.HandlerFunc
	// Key verifies client assertions; nil requires the secret.
	Key any
	// Secret is the secret of the client "known".
	Secret string
	// NoRefresh issues no refresh tokens.
	NoRefresh bool

	clients  map[string]url.Values
	codes    map[string]url.Values
	access   map[string][]string
	refresh  map[string]*family
	requests []url.Values
	seen     []string
}

// family holds the tokens from one login. A second use of a refresh token ends it.
type family struct {
	client  string
	scopes  []string
	current string
	ended   bool
}

// New starts both servers.
func New(t testing.TB) *World {
	w := &World{
		t: t, Lifetime: 3600, Secret: "s3cret-of-the-client", Metadata: map[string]func(map[string]any){}, Documents: map[string]http.HandlerFunc{},
		clients: map[string]url.Values{}, codes: map[string]url.Values{}, access: map[string][]string{}, refresh: map[string]*family{},
	}
	authority := httptest.NewServer(w.authority())
	w.Issuer = authority.URL
	tools := newServer()
	server := httptest.NewServer(w.resource(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil)))
	w.URL = server.URL + "/mcp"
	t.Cleanup(func() {
		for session := range tools.Sessions() {
			_ = session.Close()
		}
		server.Close()
		authority.Close()
	})
	return w
}

// Requests returns the token requests.
func (w *World) Requests() []url.Values {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// Seen returns the tokens of the tool requests, in order.
func (w *World) Seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// Secrets returns all issued tokens.
func (w *World) Secrets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Keys(w.access)), slices.Collect(maps.Keys(w.refresh)))
}

// Revoke makes the MCP server reject the tokens issued so far; with all it also ends the logins.
func (w *World) Revoke(all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for token := range w.access {
		w.access[token] = nil
	}
	for _, f := range w.refresh {
		f.ended = f.ended || all
	}
}

// Revoked returns the number of revoked tokens.
func (w *World) Revoked() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, scopes := range w.access {
		if scopes == nil {
			n++
		}
	}
	for _, f := range w.refresh {
		if f.ended {
			n++
		}
	}
	return n
}

// Browse opens an authorization URL, like a consenting person.
func (w *World) Browse(address string) {
	go func() {
		resp, err := http.Get(address) //nolint:noctx,gosec // the test's own server
		if err != nil {
			return // the test has ended
		}
		_ = resp.Body.Close()
	}()
}

// newServer returns tools that show the request: echo repeats a text, leak reveals the token, and
// write needs a right.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	type text struct {
		Text string `json:"text,omitempty"`
	}
	for name, answer := range map[string]func(*mcp.CallToolRequest, text) string{
		"echo":  func(_ *mcp.CallToolRequest, in text) string { return in.Text },
		"write": func(_ *mcp.CallToolRequest, in text) string { return "wrote " + in.Text },
		"leak":  func(r *mcp.CallToolRequest, _ text) string { return r.Extra.Header.Get("Authorization") },
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Tool " + name + "."}, func(_ context.Context, r *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer(r, in)}}}, nil, nil
		})
	}
	return s
}

// send sends a document with the test's changes.
func (w *World) send(rw http.ResponseWriter, path string, document map[string]any) {
	w.mu.Lock()
	replaced, change := w.Documents[path], w.Metadata[path]
	w.mu.Unlock()
	if change != nil {
		change(document)
	}
	if replaced != nil {
		replaced(rw, nil)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(document)
}

// The paths of the documents.
const (
	ResourcePath  = "/.well-known/oauth-protected-resource/mcp"
	AuthorityPath = "/.well-known/oauth-authorization-server"
)

func (w *World) resource(tools http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ResourcePath, func(rw http.ResponseWriter, _ *http.Request) {
		w.send(rw, ResourcePath, map[string]any{"resource": w.URL, "authorization_servers": []string{w.Issuer}, "scopes_supported": w.Scopes})
	})
	mux.HandleFunc("/mcp", func(rw http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		needed := w.Scopes
		if bytes.Contains(body, []byte(`"name":"write"`)) {
			needed = slices.Concat(needed, w.Rights)
		}
		w.mu.Lock()
		scopes, known := w.access[token]
		w.seen = append(w.seen, token)
		w.mu.Unlock()
		challenge := fmt.Sprintf(`Bearer resource_metadata=%q`, strings.TrimSuffix(w.URL, "/mcp")+ResourcePath)
		switch missing := slices.ContainsFunc(needed, func(s string) bool { return !slices.Contains(scopes, s) }); {
		case !known || scopes == nil:
			rw.Header().Set("WWW-Authenticate", challenge)
			rw.WriteHeader(http.StatusUnauthorized)
		case missing:
			rw.Header().Set("WWW-Authenticate", challenge+fmt.Sprintf(`, error="insufficient_scope", scope=%q`, strings.Join(needed, " ")))
			rw.WriteHeader(http.StatusForbidden)
		default:
			tools.ServeHTTP(rw, r)
		}
	})
	return mux
}

func (w *World) authority() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+AuthorityPath, func(rw http.ResponseWriter, _ *http.Request) {
		w.send(rw, AuthorityPath, map[string]any{
			"issuer": w.Issuer, "authorization_endpoint": w.Issuer + "/authorize", "token_endpoint": w.Issuer + "/token", "registration_endpoint": w.Issuer + "/register", "revocation_endpoint": w.Issuer + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"}, "scopes_supported": append([]string{"offline_access"}, w.Scopes...),
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "private_key_jwt"}, "authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("POST /register", w.register)
	mux.HandleFunc("GET /authorize", w.authorize)
	mux.HandleFunc("POST /token", w.token)
	mux.HandleFunc("POST /revoke", w.revoke)
	return mux
}

func (w *World) register(rw http.ResponseWriter, r *http.Request) {
	var in struct {
		RedirectURIs            []string `json:"redirect_uris"`
		GrantTypes              []string `json:"grant_types"`
		ResponseTypes           []string `json:"response_types"`
		TokenEndpointAuthMethod string   `json:"token_endpoint_auth_method"`
		ApplicationType         string   `json:"application_type"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.RedirectURIs) != 1 || !strings.HasPrefix(in.RedirectURIs[0], "http://127.0.0.1:") ||
		!slices.Equal(in.GrantTypes, []string{"authorization_code", "refresh_token"}) || !slices.Equal(in.ResponseTypes, []string{"code"}) ||
		in.TokenEndpointAuthMethod != "none" || in.ApplicationType != "native" {
		w.t.Errorf("the registration is %+v, %v", in, err)
	}
	id := "client-" + rand.Text()
	w.mu.Lock()
	w.clients[id] = url.Values{"redirect_uri": in.RedirectURIs}
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(rw).Encode(map[string]any{"client_id": id, "redirect_uris": in.RedirectURIs, "token_endpoint_auth_method": "none"})
}

func (w *World) authorize(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.mu.Lock()
	defer w.mu.Unlock()
	client, known := w.clients[q.Get("client_id")]
	if q.Get("client_id") == "known" {
		client, known = url.Values{"redirect_uri": q["redirect_uri"]}, true
	}
	if !known || q.Get("redirect_uri") != client.Get("redirect_uri") || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 20 || q.Get("resource") != w.URL {
		w.t.Errorf("the authorization request is %v", q)
	}
	code := rand.Text()
	w.codes[code] = q
	http.Redirect(rw, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {w.Issuer}}.Encode(), http.StatusFound)
}

// revoke ends the token of a client.
func (w *World) revoke(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	w.mu.Lock()
	defer w.mu.Unlock()
	client, ok := w.authenticate(r)
	if !ok {
		rw.WriteHeader(http.StatusUnauthorized)
		return
	}
	token := r.PostForm.Get("token")
	if f := w.refresh[token]; f != nil && f.client == client {
		f.ended = true
	}
	if _, known := w.access[token]; known {
		w.access[token] = nil
	}
}

// token issues tokens.
func (w *World) token(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	f := r.PostForm
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, f)
	if f.Get("resource") != w.URL {
		w.t.Errorf("the token request for %q names the resource %q", f.Get("grant_type"), f.Get("resource"))
	}
	fail := func(code string) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(rw).Encode(map[string]any{"error": code, "error_description": "it was " + f.Encode()})
	}
	client, ok := w.authenticate(r)
	if !ok {
		fail("invalid_client")
		return
	}
	issued := &family{client: client}
	switch f.Get("grant_type") {
	case "client_credentials":
		issued.scopes = strings.Fields(f.Get("scope"))
	case "authorization_code":
		asked := w.codes[f.Get("code")]
		delete(w.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if asked == nil || asked.Get("client_id") != client || asked.Get("redirect_uri") != f.Get("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") {
			fail("invalid_grant")
			return
		}
		issued.scopes = strings.Fields(asked.Get("scope"))
	case "refresh_token":
		old := w.refresh[f.Get("refresh_token")]
		if old == nil || old.client != client || old.ended || old.current != f.Get("refresh_token") {
			if old != nil {
				old.ended = true // stolen or used twice
			}
			fail("invalid_grant")
			return
		}
		issued = old
	default:
		fail("unsupported_grant_type")
		return
	}
	w.issue(rw, issued, f.Get("grant_type") != "client_credentials" && !w.NoRefresh)
}

func (w *World) issue(rw http.ResponseWriter, to *family, withRefresh bool) {
	out := map[string]any{"access_token": "access-" + rand.Text(), "token_type": "Bearer", "scope": strings.Join(to.scopes, " ")}
	w.access[out["access_token"].(string)] = append([]string{}, to.scopes...)
	if withRefresh {
		to.current = "refresh-" + rand.Text()
		w.refresh[to.current] = to
		out["refresh_token"] = to.current
	}
	if w.Lifetime > 0 {
		out["expires_in"] = w.Lifetime
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(out)
}

// authenticate returns the client that sends a request.
func (w *World) authenticate(r *http.Request) (string, bool) {
	f := r.PostForm
	if w.Key != nil {
		token, err := jwt.ParseSigned(f.Get("client_assertion"), []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.EdDSA})
		var claims jwt.Claims
		if err == nil {
			err = token.Claims(w.Key, &claims)
		}
		ok := err == nil && f.Get("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" &&
			claims.Issuer == "known" && claims.Subject == "known" && slices.Equal(claims.Audience, jwt.Audience{w.Issuer}) && claims.ID != "" && claims.Expiry != nil && !f.Has("client_secret")
		return "known", ok
	}
	if id, secret, ok := r.BasicAuth(); ok {
		return id, id == "known" && secret == w.Secret
	}
	_, registered := w.clients[f.Get("client_id")]
	return f.Get("client_id"), registered
}
