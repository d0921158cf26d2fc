package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/agentruntime/agentruntime/internal/openapitest"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
)

// What must not be seen by whom it does not belong to, wherever it stands.
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

// everySurface is a configuration in which all that this program can mount is
// mounted. %s is what the receivers of notifications are allowed to be.
const everySurface = `version: 1
providers: {s: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: s, upstream_model: x}}
tools: {refund: {type: command, description: Refunds., command: [cat]}}
agents:
  clerk: {model_id: m, plugin_ids: [permission], sections: {permission: {rules: [{tool: refund, behavior: ask}]}}}
store: {driver: memory}
server:
  listen: 127.0.0.1:0
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

// town is a server with everything on it, and those who ask it.
type town struct {
	*served
	issuer ed25519.PrivateKey
	scopes []string
	log    *transcript
	// receiver takes in notifications.
	receiver string
	secrets  []string
	mux      *http.ServeMux
}

// newTown returns a server; of its configuration the old texts are replaced by new
// ones.
func newTown(t *testing.T, oldnew ...string) *town {
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
	log := new(transcript)
	logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(log), zap.DebugLevel))
	w := &town{issuer: private, log: log, receiver: receiver.URL + "/hook", mux: http.NewServeMux()}
	w.served = serveLogged(t, strings.NewReplacer(append(oldnew, "./keys.json", keys)...).Replace(everySurface), everyScript, logger)
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

// claims returns what a token of the issuer says that is good.
func (w *town) claims(tenant, subject string, scopes ...string) map[string]any {
	return map[string]any{
		"iss": jwtIssuer, "aud": jwtAudience, "sub": subject, "org": tenant, "scope": strings.Join(scopes, " "),
		"exp": time.Now().Add(time.Hour).Unix(),
	}
}

// token returns a good token of the issuer.
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

// bearer returns the header of a credential.
func bearer(shown string) http.Header { return http.Header{"Authorization": {"Bearer " + shown}} }

// stranger is somebody who shows no credential that is good.
type stranger struct {
	header http.Header
	// query is added to the path.
	query string
	// silent tells that there is no credential where one may be.
	silent bool
}

// strangers are all ways of not showing a good credential.
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
		"a hash of a key":         {header: bearer(server.HashKey(annKey).String())},
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

// badTokens are tokens that are, or were, almost good.
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

// clients returns the clients of the configuration as another server knows them.
func clients() []server.Client {
	return []server.Client{{Secret: server.HashKey(botSecret), Principal: &server.Principal{
		Caller: runtime.Caller{Tenant: "acme", Subject: "ann"}, KeyID: "bot", Scopes: []string{"runs:read"},
	}}}
}

// access returns an access token as a server with a key issues it at some time.
func (w *town) access(t *testing.T, key string, at time.Time) string {
	t.Helper()
	return tokenOf(t, issuing(t, key, at))
}

func issuing(t *testing.T, key string, at time.Time) *server.OAuth {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	o, err := server.NewOAuth(server.OAuthSettings{Key: raw, TokenTTL: time.Hour, Clients: clients(), Clock: func() time.Time { return at }})
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

// tokenOf asks an issuer for a token.
func tokenOf(t *testing.T, o *server.OAuth) string {
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

// revoked returns an access token of the server that was good, and is not now.
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

// heard is the answer to a request.
type heard struct {
	status int
	header http.Header
	body   string
}

// ask sends a request and reads the answer; of a stream only its first event.
func (w *town) ask(t *testing.T, method, path, body string, headers ...http.Header) heard {
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

// own asks as ann, for whom it must go well.
func (w *town) own(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	got := w.ask(t, method, path, body, bearer(annKey))
	var answer map[string]any
	if err := json.Unmarshal([]byte(got.body), &answer); got.status >= http.StatusBadRequest || err != nil {
		t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	return answer
}

// things are what the placeholders of a request stand for.
type things map[string]string

// makers make what a request may name, as ann.
var makers = map[string]func(*testing.T, *town, things){
	"{agent}":   func(_ *testing.T, _ *town, made things) { made["{agent}"] = "clerk" },
	"{message}": func(_ *testing.T, _ *town, made things) { made["{message}"] = uuid.NewString() },
	"{hookurl}": func(_ *testing.T, w *town, made things) { made["{hookurl}"] = w.receiver },
	"{run}":     makeRun, "{call}": makeRun,
	"{session}": makeSession, "{talk}": makeTalk,
	"{task}": makeTask, "{context}": makeTask,
	"{ticket}": func(t *testing.T, w *town, made things) {
		makeTask(t, w, made)
		answer := w.own(t, http.MethodGet, "/runtime/v1/turns/"+made["{task}"]+"/interactions", "")
		list, _ := answer["interactions"].([]any)
		if len(list) != 1 {
			t.Fatalf("the task waits for %v", answer)
		}
		ticket, _ := list[0].(map[string]any)
		made["{ticket}"], _ = ticket["id"].(string)
	},
	"{hook}": func(t *testing.T, w *town, made things) {
		makeTask(t, w, made)
		made["{hook}"] = uuid.NewString()
		w.own(t, http.MethodPost, "/a2a/clerk/tasks/"+made["{task}"]+"/pushNotificationConfigs",
			fmt.Sprintf(`{"id":%q,"url":%q,"token":%q}`, made["{hook}"], w.receiver, hookSecret))
	},
}

const annPath = "/api/v1/workspaces/acme"

// toolWithHeaders is an agent elsewhere that a spec names, with a secret.
const toolWithHeaders = `{"kind":"a2a","name":"peer","agentCardUrl":"https://peer.example/card.json","headers":{"Authorization":"Bearer ` + headerSecret + `"}}`

func makeRun(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{run}"] != "" {
		return
	}
	run := w.own(t, http.MethodPost, annPath+"/agent-runs", `{"systemPrompt":"`+promptSecret+`","prompt":"hold `+inputSecret+`","tools":[`+toolWithHeaders+`,{"kind":"local","name":"lookup","description":"Looks.","parameters":{"type":"object"}}]}`)
	id, _ := run["runId"].(string)
	made["{run}"] = id
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.LocalURL()+annPath+"/agent-runs/"+id+"/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(annKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		var event struct {
			Type, ToolUseID string
		}
		if isData && json.Unmarshal([]byte(data), &event) == nil && event.ToolUseID != "" {
			made["{call}"] = event.ToolUseID
			return
		}
	}
	t.Fatal("the run asks for nothing")
}

func makeSession(t *testing.T, w *town, made things) {
	t.Helper()
	session := w.own(t, http.MethodPost, annPath+"/agent-sessions", `{"systemPrompt":"`+promptSecret+`","tools":[`+toolWithHeaders+`]}`)
	made["{session}"], _ = session["sessionId"].(string)
}

func makeTalk(t *testing.T, w *town, made things) {
	t.Helper()
	answer := w.own(t, http.MethodPost, "/api/a2a/acme/agents/clerk",
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":"`+inputSecret+`"}]}}}`)
	said, _ := answer["result"].(map[string]any)
	made["{talk}"], _ = said["contextId"].(string)
	if made["{talk}"] == "" {
		t.Fatalf("the conversation is %v", answer)
	}
}

func makeTask(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{task}"] != "" {
		return
	}
	answer := w.own(t, http.MethodPost, "/a2a/clerk/message:send",
		`{"message":{"messageId":"`+uuid.NewString()+`","role":"ROLE_USER","parts":[{"text":"refund `+inputSecret+`"}]}}`)
	task, _ := answer["task"].(map[string]any)
	made["{task}"], _ = task["id"].(string)
	made["{context}"], _ = task["contextId"].(string)
	if status, _ := task["status"].(map[string]any); status["state"] != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("the task is %v", answer)
	}
}

// make makes all that a text names.
func (w *town) make(t *testing.T, text string) things {
	t.Helper()
	made := things{}
	for name, maker := range makers {
		if strings.Contains(text, name) && made[name] == "" {
			maker(t, w, made)
		}
	}
	return made
}

// gone returns what looks like the things and is nothing.
func (made things) gone() things {
	gone := things{}
	for name, value := range made {
		switch name {
		case "{agent}":
			gone[name] = "klerk"
		case "{hookurl}", "{message}":
			gone[name] = value
		default:
			gone[name] = uuid.NewString()
		}
	}
	return gone
}

// fill writes the things where a text names them.
func (made things) fill(text, tenant string) string {
	text = strings.ReplaceAll(text, "{workspace}", url.PathEscape(tenant))
	for name, value := range made {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// same writes an answer so that two can be compared that are the same but for
// what was asked for.
func (h *heard) same(made things) string {
	var text bytes.Buffer
	header := h.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} {
		header.Del(name)
	}
	fmt.Fprintln(&text, h.status)
	_ = header.Write(&text)
	text.WriteString(strings.ReplaceAll(h.body, h.header.Get("X-Request-Id"), "REQUEST"))
	out := text.String()
	for name, value := range made {
		out = strings.ReplaceAll(out, value, name)
	}
	return moment.ReplaceAllString(out, "NOW")
}

// moment matches what no two answers have in common: a time, and the id of an
// event.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|(?m:^id: [0-9a-f-]{36}$)`)

// leaks returns what of an answer must not be there: a secret, what was said, or
// an id that was not asked for.
func (w *town) leaks(h *heard, asked string, made things) []string {
	var text bytes.Buffer
	_ = h.header.Write(&text)
	text.WriteString(h.body)
	hidden := slices.Clone(w.secrets)
	for name, value := range made {
		if name != "{agent}" && name != "{hookurl}" {
			hidden = append(hidden, value)
		}
	}
	return slices.DeleteFunc(hidden, func(secret string) bool {
		return strings.Contains(asked, secret) || !strings.Contains(text.String(), secret)
	})
}

// Write takes in a part of a log.
func (t *transcript) Write(p []byte) (int, error) {
	t.add(string(p))
	return len(p), nil
}
