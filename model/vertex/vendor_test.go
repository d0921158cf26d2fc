package vertex

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"google.golang.org/genai"
)

const (
	// testKey is the key the vendor of these tests accepts.
	testKey     = "AQ.Ab8RN6Test-0123456789"
	geminiModel = "gemini-3.1-flash"
	claudeModel = "claude-sonnet-4-5@20250929"
	geminiPath  = "/v1beta1/projects/acme/locations/global/publishers/google/models/gemini-3.1-flash:streamGenerateContent"
	claudePath  = "/v1/projects/acme/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"
)

var vendors = map[string]*vendortest.Vendor{
	"gemini": newVendor(vendortest.Vendor{
		Path: geminiPath, Query: "alt=sse", Model: geminiModel, Folder: "../google/testdata/streams", Calls: "calls",
		CheckBody: checkGemini, Patience: vendorhttp.EndPatience,
		Recordings: []vendortest.Recording{{Name: "text", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11}, Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}}}, StreamError: `data: {"error":{"code":401,"message":%q}}` + "\n\n",
	}),
	"claude": newVendor(vendortest.Vendor{
		Path: claudePath, Model: claudeModel, Folder: "../anthropic/testdata", Calls: "tools",
		CheckBody: checkClaude, Patience: 100 * time.Millisecond,
		Headers:    map[string]string{"Anthropic-Version": ""},
		Recordings: []vendortest.Recording{{Name: "text", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11}, Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}}}, StreamError: "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":%q}}\n\n",
	}),
}

// newVendor completes what differs between the publishers.
func newVendor(v vendortest.Vendor) *vendortest.Vendor {
	v.Kind, v.Type = Kind(), "vertex"
	v.Settings = map[string]any{"project": "acme", "token": "none"}
	v.New = func(access vendortest.Access, transport http.RoundTripper) (model.Executor, error) {
		return newExecutor(model.Settings{ID: vendortest.Provider},
			&Config{Project: "acme", Token: "none", APIKey: access.APIKey, BaseURL: access.BaseURL, Headers: access.Headers}, transports{transport, transport})
	}
	v.Key, v.MaskedKey, v.KeyHeader = testKey, "AIza****************abcd", keyHeader
	v.Conversation = func() *model.Request { return vendortest.FullConversation(v.Model) }
	v.Refusal = `{"error":{"message":%q}}`
	v.Environment = map[string]string{
		"GOOGLE_APPLICATION_CREDENTIALS": "/environment.json", "GOOGLE_CLOUD_PROJECT": "environment", "GCE_METADATA_HOST": "127.0.0.1:1",
		"ANTHROPIC_API_KEY": "environment", "GOOGLE_API_KEY": "environment",
	}
	query := ""
	if v.Query != "" {
		query = "?" + v.Query
	}
	v.URLs = map[string]string{
		"":                      "https://aiplatform.googleapis.com" + v.Path + query,
		"http://localhost:1/gw": "http://localhost:1/gw" + v.Path + query,
	}
	return &v
}

func TestVendor(t *testing.T) {
	for name, v := range vendors {
		t.Run(name, func(t *testing.T) { vendortest.Run(t, v) })
	}
}

// checkGemini checks that the SDK knows all fields of a body.
func checkGemini(t testing.TB, body []byte) {
	t.Helper()
	var v struct {
		Contents          []*genai.Content        `json:"contents"`
		SystemInstruction *genai.Content          `json:"systemInstruction"`
		Tools             []*genai.Tool           `json:"tools"`
		ToolConfig        *genai.ToolConfig       `json:"toolConfig"`
		GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Errorf("the SDK does not read the body: %v\n%s", err, body)
	}
}

// checkClaude checks that the model is in the path alone.
func checkClaude(t testing.TB, body []byte) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil || v["anthropic_version"] != "vertex-2023-10-16" || v["model"] != nil || v["stream"] != true {
		t.Errorf("the body is %s, %v", body, err)
	}
	if err := readWithSDK(body); err != nil {
		t.Errorf("the SDK does not read the body: %v", err)
	}
}

func TestWhereModelsAre(t *testing.T) {
	for _, tt := range []struct {
		location, model, want string
	}{
		{"", geminiModel, "https://aiplatform.googleapis.com" + geminiPath + "?alt=sse"},
		{"europe-west1", claudeModel, "https://europe-west1-aiplatform.googleapis.com/v1/projects/acme/locations/europe-west1/publishers/anthropic/models/" + claudeModel + ":streamRawPredict"},
		{"eu", "publishers/anthropic/models/claude-x", "https://aiplatform.eu.rep.googleapis.com/v1/projects/acme/locations/eu/publishers/anthropic/models/claude-x:streamRawPredict"},
		{"us-central1", "endpoints/123", "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/acme/locations/us-central1/endpoints/123:streamGenerateContent?alt=sse"},
		{"us-central1", "projects/other/locations/us-east1/endpoints/1", "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/other/locations/us-east1/endpoints/1:streamGenerateContent?alt=sse"},
		{"", "../x", ""}, {"", "", ""},
	} {
		asked := ""
		answer := vendortest.RoundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			name := "gemini"
			if isClaude(tt.model) {
				name = "claude"
			}
			return vendortest.StreamResponse(r, bytes.NewReader(vendors[name].Recorded(t, "text"))), nil
		})
		e, err := newExecutor(model.Settings{ID: vendortest.Provider}, &Config{Project: "acme", Location: tt.location, Token: "none"}, transports{answer, answer})
		if err != nil {
			t.Fatal(err)
		}
		if _, failure := vendortest.Ask(t, e, vendortest.Hello(tt.model)); asked != tt.want || (failure != nil) != (tt.want == "") {
			t.Errorf("%s in %q is asked at %s (%v), want %s", tt.model, tt.location, asked, failure, tt.want)
		}
	}
}

// writeAccount writes the file of a service account.
func writeAccount(t *testing.T, change func(map[string]string)) (string, *rsa.PrivateKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{
		"type": "service_account", "client_email": "me@acme.iam.gserviceaccount.com", "private_key_id": "key-1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}
	change(fields)
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, []byte(vendortest.JSON(t, fields)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, key
}

// ask asks both publishers several times with tokens that answer gives.
func ask(t *testing.T, c Config, answer func(r *http.Request) (int, string)) (tokens int32, failure *model.Error) {
	t.Helper()
	var asked atomic.Int32
	transport := vendortest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		res := vendortest.StreamResponse(r, strings.NewReader(""))
		if r.URL.Host == "aiplatform.googleapis.com" {
			if got := r.Header.Get("Authorization"); got != "Bearer ya29.token" {
				t.Errorf("the request carries %q", got)
			}
			name := "gemini"
			if strings.Contains(r.URL.Path, "anthropic") {
				name = "claude"
			}
			res.Body = io.NopCloser(bytes.NewReader(vendors[name].Recorded(t, "text")))
			return res, nil
		}
		asked.Add(1)
		var body string
		res.StatusCode, body = answer(r)
		res.Body = io.NopCloser(strings.NewReader(body))
		return res, nil
	})
	c.Project = "acme"
	e, err := newExecutor(model.Settings{ID: vendortest.Provider}, &c, transports{transport, transport})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	for range 5 {
		for _, name := range []string{geminiModel, claudeModel} {
			group.Go(func() {
				_, failed := vendortest.Ask(t, e, vendortest.Hello(name))
				mu.Lock()
				defer mu.Unlock()
				failure = failed
			})
		}
	}
	group.Wait()
	return asked.Load(), failure
}

func TestTokensOfAServiceAccount(t *testing.T) {
	file, key := writeAccount(t, func(map[string]string) {})
	tokens, failure := ask(t, Config{ServiceAccountFile: file}, func(r *http.Request) (int, string) {
		_ = r.ParseForm()
		signed, err := jwt.ParseSigned(r.PostForm.Get("assertion"), []jose.SignatureAlgorithm{jose.RS256})
		if err != nil {
			t.Fatal(err)
		}
		var claims struct {
			jwt.Claims
			Scope string `json:"scope"`
		}
		if err := signed.Claims(&key.PublicKey, &claims); err != nil || signed.Headers[0].KeyID != "key-1" {
			t.Errorf("the assertion is signed by %q: %v", signed.Headers[0].KeyID, err)
		}
		if err := claims.Validate(jwt.Expected{Issuer: "me@acme.iam.gserviceaccount.com", AnyAudience: jwt.Audience{defaultTokenURL}}); err != nil || claims.Scope != scope {
			t.Errorf("the assertion says %+v: %v", claims, err)
		}
		if r.URL.String() != defaultTokenURL || r.PostForm.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			t.Errorf("the token is requested at %s with %v", r.URL, r.PostForm)
		}
		return 200, `{"access_token":"ya29.token","expires_in":3599}`
	})
	if failure != nil || tokens != 1 {
		t.Errorf("%d tokens, then %v", tokens, failure)
	}
}

func TestTokensOfTheMetadataServer(t *testing.T) {
	tokens, failure := ask(t, Config{}, func(r *http.Request) (int, string) {
		if r.URL.String() != metadataAddress || r.Header.Get("Metadata-Flavor") != "Google" {
			t.Errorf("the token is requested at %s", r.URL)
		}
		return 200, `{"access_token":"ya29.token","expires_in":3599,"token_type":"Bearer"}`
	})
	if failure != nil || tokens != 1 {
		t.Errorf("%d tokens, then %v", tokens, failure)
	}
}

func TestTokensThatAreNotIssued(t *testing.T) {
	whole, _ := writeAccount(t, func(map[string]string) {})
	other, _ := writeAccount(t, func(f map[string]string) { f["type"] = "authorized_user" })
	plain, _ := writeAccount(t, func(f map[string]string) { f["token_uri"] = "http://tokens.example/" })
	broken, _ := writeAccount(t, func(f map[string]string) { f["private_key"] = "hush" })
	for _, tt := range []struct {
		config Config
		status int
		body   string
		class  model.ErrorClass
		said   string
	}{
		{Config{ServiceAccountFile: whole}, 400, `{"error":"invalid_grant","error_description":"hush"}`, model.Unauthorized, "400: invalid_grant"},
		{Config{ServiceAccountFile: whole}, 503, ``, model.Overloaded, "503"},
		{Config{ServiceAccountFile: whole}, 200, `{}`, model.Unauthorized, "no access_token"},
		{Config{ServiceAccountFile: other}, 200, ``, model.Unauthorized, "not the JSON key"},
		{Config{ServiceAccountFile: plain}, 200, ``, model.Unauthorized, "token_uri"},
		{Config{ServiceAccountFile: broken}, 200, ``, model.Unauthorized, "private_key"},
		{Config{ServiceAccountFile: "/does/not/exist"}, 200, ``, model.Unauthorized, "/does/not/exist"},
		{Config{Token: "metadata"}, 404, `hush`, model.Unauthorized, "metadata server: the server answers 404"},
	} {
		_, failure := ask(t, tt.config, func(*http.Request) (int, string) { return tt.status, tt.body })
		if failure == nil || failure.Class != tt.class || !strings.Contains(failure.Message, tt.said) || strings.Contains(failure.Message, "hush") {
			t.Errorf("%d %s gives %v, want %s: %s", tt.status, tt.body, failure, tt.class, tt.said)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		config     Config
		path, said string
	}{
		{Config{}, "project", "required"},
		{Config{Project: "A B"}, "project", `"A B"`},
		{Config{Project: "p", Location: "EU/x"}, "location", `"EU/x"`},
		{Config{Project: "p", MaxOutputTokens: -1}, "max_output_tokens", "-1"},
		{Config{Project: "p", Token: "adc"}, "token", `"adc"`},
		{Config{Project: "p", Token: "none", ServiceAccountFile: "f"}, "token", "contradicts"},
		{Config{Project: "p", APIKey: "secret", ServiceAccountFile: "f"}, "api_key", "contradicts"},
		{Config{Project: "p", Headers: map[string]string{"authorization": "secret"}}, "headers.authorization", "contradicts token"},
		{Config{Project: "p", Location: "eu"}, "", ""},
	} {
		vendors["gemini"].CheckConfig(t, &tt.config, tt.path, tt.said)
	}
}

func TestRequestsAreEdited(t *testing.T) {
	for _, name := range []string{geminiModel, claudeModel} {
		body := ""
		answer := vendortest.RoundTrip(func(r *http.Request) (*http.Response, error) {
			data, _ := io.ReadAll(r.Body)
			body = string(data)
			publisher := map[bool]string{true: "claude", false: "gemini"}[isClaude(name)]
			return vendortest.StreamResponse(r, bytes.NewReader(vendors[publisher].Recorded(t, "text"))), nil
		})
		edits := &spec.RequestEdits{Set: map[string]json.RawMessage{"labels": json.RawMessage(`{"team":"a"}`)}}
		e, err := newExecutor(model.Settings{ID: vendortest.Provider}, &Config{Project: "acme", Token: "none", Request: edits}, transports{answer, answer})
		if err != nil {
			t.Fatal(err)
		}
		if _, failure := vendortest.Ask(t, e, vendortest.Hello(name)); failure != nil || !strings.Contains(body, `"labels":{"team":"a"}`) {
			t.Errorf("%s is sent %s, %v", name, body, failure)
		}
	}
}

// TestEditsWithoutEffectAreWarnedAbout covers edits of the provider, which concern Gemini and Claude, and
// edits of a model.
func TestEditsWithoutEffectAreWarnedAbout(t *testing.T) {
	answer := vendortest.RoundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	e, err := newExecutor(model.Settings{ID: vendortest.Provider}, &Config{Project: "acme", Token: "none"}, transports{answer, answer})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ provider, gemini, claude int }{
		"generationConfig.temperature": {0, 0, 1},
		"max_tokens":                   {0, 1, 0},
		"cache_control":                {0, 1, 0},
		"seed":                         {0, 0, 1},
		"stream_options":               {1, 1, 1},
		"generation_config":            {1, 1, 1},
	} {
		edits := &spec.RequestEdits{Omit: []string{path}}
		warned := (&Config{Project: "acme", Token: "none", Request: edits}).Validate()
		if len(warned) != want.provider || want.provider > 0 && (warned[0].Severity != diag.Warning || warned[0].Path != "request.omit[0]") {
			t.Errorf("%s of the provider: %v", path, warned)
		}
		if list := e.(model.EditChecker).CheckEdits(geminiModel, edits); len(list) != want.gemini {
			t.Errorf("%s of Gemini: %v", path, list)
		}
		if list := e.(model.EditChecker).CheckEdits(claudeModel, edits); len(list) != want.claude {
			t.Errorf("%s of Claude: %v", path, list)
		}
	}
	wrong := (&Config{Project: "acme", Token: "none", Request: &spec.RequestEdits{Omit: []string{""}}}).Validate()
	if len(wrong) != 1 || wrong[0].Severity != diag.Error {
		t.Errorf("an empty path: %v", wrong)
	}
}

func TestFilesOfAccountsThatAreMissingAreWarnedAbout(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]int{emptyFile(t, dir): 0, dir: 1, filepath.Join(dir, "none.json"): 1} {
		list := (&Config{Project: "acme", ServiceAccountFile: name}).Validate()
		if len(list) != want || want > 0 && (list[0].Severity != diag.Warning || list[0].Path != "service_account_file") {
			t.Errorf("%s: %v", name, list)
		}
	}
}

func emptyFile(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "key.json")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestProvidersWithoutCredentialAreWarnedAbout(t *testing.T) {
	key := emptyFile(t, t.TempDir())
	vendortest.CheckCredentials(t, &Config{Project: "acme"}, []string{"service_account_file", "api_key", "token: metadata", "token: none"},
		&Config{Project: "acme", APIKey: "k"},
		&Config{Project: "acme", ServiceAccountFile: key},
		&Config{Project: "acme", Token: "metadata"},
		&Config{Project: "acme", Token: "none"},
		&Config{Project: "acme", Headers: map[string]string{"X-Gateway-Key": "k"}})
}
