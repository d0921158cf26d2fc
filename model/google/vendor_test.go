package google

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"google.golang.org/genai"
)

// testKey is the key accepted by the test vendor.
const testKey = "AIzaTest-0123456789abcdef"

const (
	oldModel = "gemini-2.5-flash"
	newModel = "gemini-3.1-flash"
)

// vendor describes Google for the common vendor suite.
var vendor = &vendortest.Vendor{
	Kind: Kind(), Type: "google",
	New: func(access vendortest.Access, transport http.RoundTripper) (model.Executor, error) {
		return newExecutor(model.Settings{ID: vendortest.Provider},
			&Config{APIKey: access.APIKey, BaseURL: access.BaseURL, Headers: access.Headers}, transport)
	},
	Key: testKey, MaskedKey: "AIza****************abcd", KeyHeader: "X-Goog-Api-Key",
	Path: "/v1beta/models/gemini-*:streamGenerateContent", Query: "alt=sse",
	CheckBody: func(t testing.TB, body []byte) { checkBody(t, body) },
	URLs: map[string]string{
		"":                      "https://generativelanguage.googleapis.com" + newPath,
		"http://localhost:1":    "http://localhost:1" + newPath,
		"http://localhost:1/a/": "http://localhost:1/a" + newPath,
	},
	Environment: map[string]string{
		"GOOGLE_API_KEY": "AIzaEnvironment1", "GEMINI_API_KEY": "AIzaEnvironment2", "GOOGLE_GENAI_USE_VERTEXAI": "true",
		"GOOGLE_GENAI_USE_ENTERPRISE": "1", "GOOGLE_CLOUD_PROJECT": "project-environment", "GOOGLE_CLOUD_LOCATION": "us",
		"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1/environment", "GOOGLE_VERTEX_BASE_URL": "http://127.0.0.1:1/environment",
		"GOOGLE_APPLICATION_CREDENTIALS": "/environment.json",
	},
	Model: newModel, Conversation: func() *model.Request { return conversation(newModel) },
	Folder: "testdata/streams", Calls: "calls", Recordings: recordings,
	Patience:    vendorhttp.EndPatience,
	Refusal:     `{"error":{"message":%q}}`,
	StreamError: `data: {"error":{"code":401,"message":%q}}` + "\n\n",
}

const newPath = "/v1beta/models/" + newModel + ":streamGenerateContent?alt=sse"

func TestVendor(t *testing.T) { vendortest.Run(t, vendor) }

// offline returns an executor whose requests are all answered by answer.
func offline(t testing.TB, c Config, answer vendortest.RoundTrip) *Executor {
	t.Helper()
	return vendortest.Make(t, newExecutor, c, answer)
}

// hello is the shortest request.
func hello() *model.Request { return vendortest.Hello(newModel) }

// vendorBody is a request in the SDK's own types.
type vendorBody struct {
	Contents          []*genai.Content        `json:"contents"`
	SystemInstruction *genai.Content          `json:"systemInstruction"`
	Tools             []*genai.Tool           `json:"tools"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
}

// checkBody checks the body of a request: it has no fields unknown to the SDK, and the vendor
// accepts the conversation.
func checkBody(t testing.TB, body []byte) *vendorBody {
	t.Helper()
	v := &vendorBody{}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Errorf("the SDK does not read the body: %v\n%s", err, body)
		return v
	}
	calls := 0
	for i, c := range v.Contents {
		if c.Role != genai.RoleUser && c.Role != genai.RoleModel || len(c.Parts) == 0 {
			t.Errorf("content %d has the role %q and %d parts", i, c.Role, len(c.Parts))
		}
		results := 0
		for _, p := range c.Parts {
			checkPart(t, c.Role, p)
			if p.FunctionResponse != nil {
				results++
			}
		}
		if calls > 0 && results != calls {
			t.Errorf("content %d answers %d calls with %d results", i, calls, results)
		}
		calls = 0
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				calls++
			}
		}
	}
	return v
}

// checkPart checks that a part holds one thing, which its role may contain.
func checkPart(t testing.TB, role string, p *genai.Part) {
	t.Helper()
	things := 0
	for _, is := range []bool{p.Text != "", p.InlineData != nil, p.FileData != nil, p.FunctionCall != nil, p.FunctionResponse != nil} {
		if is {
			things++
		}
	}
	if things != 1 {
		t.Errorf("a part holds %d things: %s", things, vendortest.JSON(t, p))
	}
	if p.FunctionCall != nil && (role != genai.RoleModel || p.FunctionCall.Name == "") ||
		p.FunctionResponse != nil && (role != genai.RoleUser || p.FunctionResponse.Name == "") {
		t.Errorf("the role %s says %s", role, vendortest.JSON(t, p))
	}
}

func parse(t testing.TB, data string) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(data))
	dec.UseNumber() // a float64 would lose digits
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	return v
}

// newExecutor returns an executor with a transport.
func newExecutor(settings model.Settings, c *Config, transport http.RoundTripper) (*Executor, error) {
	return NewAt(settings, c, vendorhttp.Endpoint{}, transport)
}
