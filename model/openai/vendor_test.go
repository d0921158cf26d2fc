package openai

import (
	"bytes"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// testKey is the key the vendor of these tests accepts.
	testKey   = "sk-test-0123456789abcdef"
	testModel = "gpt-6-astra"
)

// vendors are the two APIs, as the suite of all vendors knows them.
var vendors = map[API]*vendortest.Vendor{
	Responses: newVendor(Responses, vendortest.Vendor{
		Path:        "/responses",
		Folder:      "testdata/responses",
		Recordings:  responsesRecordings,
		StreamError: "event: error\ndata: {\"type\":\"error\",\"message\":%q}\n\n",
	}),
	ChatCompletions: newVendor(ChatCompletions, vendortest.Vendor{
		Path:        "/chat/completions",
		Folder:      "testdata/chat",
		Recordings:  chatRecordings,
		StreamError: "data: {\"error\":{\"message\":%q}}\n\n",
	}),
}

// newVendor completes what differs between the APIs.
func newVendor(api API, v vendortest.Vendor) *vendortest.Vendor {
	v.Kind, v.Type = Kind(), "openai"
	v.New = func(access vendortest.Access, transport http.RoundTripper) (model.Executor, error) {
		return newExecutor(model.Settings{ID: vendortest.Provider},
			&Config{APIKey: access.APIKey, BaseURL: access.BaseURL, Headers: access.Headers, API: api}, transport)
	}
	v.Key, v.MaskedKey = testKey, "sk-proj-****************abcd"
	v.KeyHeader, v.KeyPrefix = "Authorization", "Bearer "
	v.CheckBody = func(t testing.TB, body []byte) { checkBody(t, api, body) }
	v.Environment = map[string]string{
		"OPENAI_API_KEY": "sk-environment", "OPENAI_ADMIN_KEY": "sk-admin-environment", "OPENAI_ORG_ID": "org-environment",
		"OPENAI_PROJECT_ID": "proj-environment", "OPENAI_BASE_URL": "http://127.0.0.1:1/environment",
		"OPENAI_CUSTOM_HEADERS": "X-Environment: yes",
	}
	v.URLs = map[string]string{
		"":                           defaultBaseURL + v.Path,
		"http://localhost:11434/v1":  "http://localhost:11434/v1" + v.Path,
		"http://localhost:11434/v1/": "http://localhost:11434/v1" + v.Path,
		"http://localhost:11434":     "http://localhost:11434" + v.Path,
	}
	v.Model, v.Conversation = testModel, conversation
	v.Calls = "calls"
	v.Patience = 100 * time.Millisecond
	v.Refusal = `{"error":{"message":%q}}`
	return &v
}

func TestVendor(t *testing.T) {
	for api, v := range vendors {
		t.Run(string(api), func(t *testing.T) { vendortest.Run(t, v) })
	}
}

// schemas are the APIs as their vendor publishes them.
var schemas = map[API]string{
	Responses: "responses_request.schema.json", ChatCompletions: "chat_request.schema.json",
}

// compiled holds the schemas of the request bodies, which refuse every field
// that they do not name.
var compiled = sync.OnceValue(func() map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{}
	for _, name := range schemas {
		c := jsonschema.NewCompiler()
		s, err := c.Compile(filepath.Join("testdata", name))
		if err != nil {
			panic(err)
		}
		all[name] = s
	}
	return all
})

// checkBody checks the body of a request against the vendor's published API:
// against a schema that allows nothing unknown, and with the SDK's own types.
func checkBody(t testing.TB, api API, body []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("the body is no JSON: %v\n%s", err, body)
	}
	if err := compiled()[schemas[api]].Validate(doc); err != nil {
		t.Errorf("the body is not what the API takes: %v\n%s", err, body)
	}
	if err := readWithSDK(api, body); err != nil {
		t.Errorf("the SDK does not read the body: %v", err)
	}
}

// offline returns an executor whose every request is answered with what answer
// returns.
func offline(t testing.TB, c Config, answer vendortest.RoundTrip) *Executor {
	t.Helper()
	return vendortest.Make(t, newExecutor, c, answer)
}

// hello is the shortest request.
func hello() *model.Request { return vendortest.Hello(testModel) }

// newExecutor returns an executor with a transport.
func newExecutor(settings model.Settings, c *Config, transport http.RoundTripper) (*Executor, error) {
	return NewAt(settings, c, vendorhttp.Endpoint{}, transport)
}
