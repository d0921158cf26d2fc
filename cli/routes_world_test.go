package cli

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
)

// Texts that only their owner may see, wherever they appear.
const (
	annKey        = "ark_ann-ann-ann-ann-ann"
	eveKey        = "ark_eve-eve-eve-eve-eve"
	lateKey       = "ark_late-late-late-late"
	botSecret     = "bot-secret-bot-secret"
	oldSecret     = "old-secret-old-secret"
	headerSecret  = "header-secret-of-a-tool"
	hookSecret    = "token-of-a-receiver"
	promptSecret  = "prompt-of-a-session"
	inputSecret   = "input-of-a-run"
	replySecret   = "reply-of-the-model"
	encryptionKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
)

const (
	jwtIssuer   = "https://id.example"
	jwtAudience = "agents"
)

// everySurface is a configuration that mounts everything this program can mount. %s is the list of
// allowed notification receivers.
const everySurface = `version: 1
providers: {s: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: s, upstream_model: x}}
tools: {refund: {type: command, description: Refunds., command: [cat]}}
agents:
  clerk: {model_id: m, plugin_ids: [permission], sections: {permission: {rules: [{tool: refund, behavior: ask}, {tool: lookup, behavior: allow}]}}}
store: {driver: memory}
server:
  listen: 127.0.0.1:0
  console: true
  encryption_key: ` + encryptionKey + `
  keys:
    - {id: ann, key: ` + annKey + `, tenant: acme, subject: ann}
    - {id: eve, key: ` + eveKey + `, tenant: acme, subject: ann, agents: [nothing-*]}
    - {id: late, key: ` + lateKey + `, tenant: acme, subject: ann, expires: 2020-12-31}
  oauth:
    clients:
      - {id: bot, secret: ` + botSecret + `, tenant: acme, subject: ann, scopes: [runs:read]}
      - {id: old, secret: ` + oldSecret + `, tenant: acme, subject: ann, scopes: [runs:read], expires: 2020-12-31}
  jwt: {issuer: "` + jwtIssuer + `", audience: ` + jwtAudience + `, jwks_file: ./keys.json, algorithms: [EdDSA], tenant_claim: org}
  sessions: {providers: {runtime: {agent: clerk}}}
  a2a: {v0_3: true, grpc_listen: "127.0.0.1:0", push: {allow_private: [127.0.0.1]}}
`

const everyScript = `replies:
  - match: visit
    tool_calls:
      - {id: call_1, name: peer, arguments: {message: hello}}
      - {id: call_2, name: shop_unavailable, arguments: {}}
  - {match: hold, tool_calls: [{id: call_1, name: lookup, arguments: {}}]}
  - {match: refund, tool_calls: [{id: call_1, name: refund, arguments: {}}]}
  - {match: ` + inputSecret + `, text: ` + replySecret + `}
fallback: {text: Hello.}
`

// town is a server with all surfaces, and its callers.
type town struct {
	*served
	issuer ed25519.PrivateKey
	scopes []string
	log    *sharedOutput
	// receiver receives notifications.
	receiver string
	secrets  []string
	mux      *http.ServeMux
}

// newTown returns a server whose configuration has the old texts replaced by new texts.
func newTown(t *testing.T, oldnew ...string) *town {
	t.Helper()
	return newTownOf(t, everySurface, oldnew...)
}

func newTownOf(t *testing.T, config string, oldnew ...string) *town {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k", Algorithm: "EdDSA"}}})
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, set, 0o600); err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	log := new(sharedOutput)
	logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(log), zap.DebugLevel))
	w := &town{issuer: private, log: log, receiver: receiver.URL + "/hook", mux: http.NewServeMux()}
	w.served = serveLogged(t, strings.NewReplacer(append(oldnew, "./keys.json", keys)...).Replace(config), everyScript, logger)
	w.secrets = []string{
		annKey, eveKey, lateKey, botSecret, oldSecret, headerSecret, hookSecret, promptSecret, inputSecret, replySecret, encryptionKey,
		base64.StdEncoding.EncodeToString([]byte(headerSecret)), base64.StdEncoding.EncodeToString([]byte(hookSecret)),
	}
	for _, route := range w.Routes() {
		w.mux.HandleFunc(route.Pattern, func(http.ResponseWriter, *http.Request) {})
		if route.Scope != "" && !slices.Contains(w.scopes, route.Scope) {
			w.scopes = append(w.scopes, route.Scope)
		}
	}
	return w
}

// claims returns the claims of a valid token of the issuer.
func (w *town) claims(tenant, subject string, scopes ...string) map[string]any {
	return map[string]any{
		"iss": jwtIssuer, "aud": jwtAudience, "sub": subject, "org": tenant, "scope": strings.Join(scopes, " "),
		"exp": time.Now().Add(time.Hour).Unix(),
	}
}

// token returns a valid token of the issuer.
func (w *town) token(t *testing.T, tenant, subject string, scopes ...string) string {
	t.Helper()
	return signed(t, jose.EdDSA, w.issuer, w.claims(tenant, subject, scopes...))
}

func signed(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, new(jose.SignerOptions).WithHeader("kid", "k"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	made, err := signer.Sign(data)
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// heard is the answer to a request.
type heard struct {
	status int
	header http.Header
	body   string
}

// ask sends a request and reads the answer, or a stream's first event. No error may name a place on
// the machine.
func (w *town) ask(t *testing.T, method, path, body string, headers ...http.Header) heard {
	t.Helper()
	got := w.answer(t, method, path, body, headers...)
	refused := got.status >= http.StatusBadRequest || strings.Contains(got.body, `"error":{"code":`)
	if !refused {
		return got
	}
	if named := machinePlaces(t, got.body, path+body); len(named) > 0 {
		t.Errorf("%s %s %.200s: the answer names %q: %s", method, path, body, named, got.body)
	}
	return got
}

// answer sends a request and reads the answer, or a stream's first event.
func (w *town) answer(t *testing.T, method, path, body string, headers ...http.Header) heard {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.LocalURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("A2A-Version", "1.0")
	for _, header := range headers {
		for name, values := range header {
			req.Header[name] = values
		}
	}
	resp, err := openapitest.AnswerTransport(t, http.DefaultTransport, w.OpenAPI).RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		first, err := firstEvent(resp.Body)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		return heard{resp.StatusCode, resp.Header, first}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return heard{resp.StatusCode, resp.Header, string(text)}
}

func firstEvent(r io.Reader) (string, error) {
	var text strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if lines.Text() == "" && strings.Contains(text.String(), "data:") {
			break
		}
		text.WriteString(lines.Text() + "\n")
	}
	return text.String(), lines.Err()
}

// own sends a request as ann, which must succeed.
func (w *town) own(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	got := w.ask(t, method, path, body, bearer(annKey))
	var answer map[string]any
	if err := json.Unmarshal([]byte(got.body), &answer); got.status >= http.StatusBadRequest || err != nil {
		t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	return answer
}
