package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

const (
	// testKey is the key accepted by the test vendor.
	testKey   = "sk-ant-test-0123456789abcdef"
	testModel = "claude-opus-5-5"
	// reportModel does not support output schemas, so the report is used.
	reportModel = "claude-opus-4-1-20250805"
)

// vendor describes Anthropic for the common vendor suite.
var vendor = &vendortest.Vendor{
	Kind: Kind(), Type: "anthropic",
	New: func(access vendortest.Access, transport http.RoundTripper) (model.Executor, error) {
		return newExecutor(model.Settings{ID: vendortest.Provider},
			&Config{APIKey: access.APIKey, BaseURL: access.BaseURL, Headers: access.Headers}, transport)
	},
	Key: testKey, MaskedKey: "sk-ant-****************abcd", KeyHeader: "X-Api-Key",
	Headers:   map[string]string{"Anthropic-Version": "2023-06-01"},
	Path:      "/v1/messages",
	CheckBody: func(t testing.TB, body []byte) { checkBody(t, body) },
	URLs: map[string]string{
		"":                              "https://api.anthropic.com/v1/messages",
		"http://localhost:8080":         "http://localhost:8080/v1/messages",
		"http://localhost:8080/claude":  "http://localhost:8080/claude/v1/messages",
		"http://localhost:8080/claude/": "http://localhost:8080/claude/v1/messages",
	},
	Environment: map[string]string{
		"ANTHROPIC_API_KEY": "sk-environment", "ANTHROPIC_AUTH_TOKEN": "token-environment", "ANTHROPIC_PROFILE": "missing",
		"ANTHROPIC_BASE_URL": "http://127.0.0.1:1/environment", "ANTHROPIC_CUSTOM_HEADERS": "X-Environment: yes",
		"ANTHROPIC_OPEN_TELEMETRY": "true",
	},
	Model: testModel, Conversation: conversation,
	Folder: "testdata", Calls: "tools", Recordings: recordings,
	Patience:    100 * time.Millisecond,
	Refusal:     `{"error":{"message":%q}}`,
	StreamError: "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":%q}}\n\n",
}

func TestVendor(t *testing.T) { vendortest.Run(t, vendor) }

// offline returns an executor whose requests are all answered by answer.
func offline(t testing.TB, c Config, answer vendortest.RoundTrip) *Executor {
	t.Helper()
	return vendortest.Make(t, newExecutor, c, answer)
}

// hello is the shortest request.
func hello() *model.Request { return vendortest.Hello(testModel) }

func readBody(t testing.TB, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func streamOf(t testing.TB, name string) io.Reader {
	t.Helper()
	return bytes.NewReader(vendor.Recorded(t, name))
}

// refusalResponse rejects a request as invalid.
func refusalResponse(r *http.Request, why string) *http.Response {
	message, _ := json.Marshal(why)
	body := fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%s}}`, message)
	res := vendortest.StreamResponse(r, strings.NewReader(body))
	res.StatusCode = http.StatusBadRequest
	res.Header.Set("Content-Type", "application/json")
	return res
}

// newExecutor returns an executor with a transport.
func newExecutor(settings model.Settings, c *Config, transport http.RoundTripper) (*Executor, error) {
	return NewAt(settings, c, Endpoint{}, transport)
}
