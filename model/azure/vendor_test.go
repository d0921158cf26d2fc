package azure

import (
	"cmp"
	"net/http"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/model/openai"
)

const (
	// testKey is the key accepted by the test vendor.
	testKey   = "0123456789abcdef0123456789abcdef"
	testModel = "my-deployment"
	testURL   = "https://acme.openai.azure.com"
	paris     = `{"city":"Paris"}`
	oslo      = `{"city":"Oslo","days":3}`
)

var chatRecordings = []vendortest.Recording{
	{Name: "text", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11},
		Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{Name: "calls", Reason: model.FinishToolCalls,
		Usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12},
		Parts: []model.Part{vendortest.ToolCall("call_paris", "weather", paris), vendortest.ToolCall("call_oslo", "weather", oslo), vendortest.ToolCall("call_now", "now", `{}`)}},
}

var responsesRecordings = []vendortest.Recording{
	{Name: "text", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11},
		Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{Name: "calls", Reason: model.FinishToolCalls,
		Usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12},
		Parts: []model.Part{vendortest.Reasoning("", "gAAA-calls", "rs_1"), model.Text("Looking."),
			vendortest.ToolCall("call_paris", "weather", paris), vendortest.ToolCall("call_oslo", "weather", oslo), vendortest.ToolCall("call_now", "now", `{}`)}},
}

// vendors describes the APIs of Azure for the common vendor suite.
var vendors = map[string]*vendortest.Vendor{
	"v1 responses": newVendor(Config{}, vendortest.Vendor{
		Path: "/openai/v1/responses", Folder: "../openai/testdata/responses", Recordings: responsesRecordings,
		StreamError: "event: error\ndata: {\"type\":\"error\",\"message\":%q}\n\n",
	}),
	"v1 chat": newVendor(Config{API: openai.ChatCompletions, APIVersion: "preview"}, vendortest.Vendor{
		Path: "/openai/v1/chat/completions", Query: "api-version=preview",
		Folder: "../openai/testdata/chat", Recordings: chatRecordings,
		StreamError: "data: {\"error\":{\"message\":%q}}\n\n",
	}),
	"deployment": newVendor(Config{APIVersion: "2024-10-21"}, vendortest.Vendor{
		Path: "/openai/deployments/" + testModel + "/chat/completions", Query: "api-version=2024-10-21",
		Folder: "../openai/testdata/chat", Recordings: chatRecordings,
		StreamError: "data: {\"error\":{\"message\":%q}}\n\n",
	}),
	"dated responses": newVendor(Config{APIVersion: "2025-04-01-preview", API: openai.Responses}, vendortest.Vendor{
		Path: "/openai/responses", Query: "api-version=2025-04-01-preview",
		Folder: "../openai/testdata/responses", Recordings: responsesRecordings,
		StreamError: "event: error\ndata: {\"type\":\"error\",\"message\":%q}\n\n",
	}),
}

// newVendor fills in the differences between the APIs.
func newVendor(c Config, v vendortest.Vendor) *vendortest.Vendor {
	v.Kind, v.Type, v.Name = Kind(), "azure_openai", "azure-openai"
	v.Settings = map[string]any{"base_url": testURL}
	v.New = func(access vendortest.Access, transport http.RoundTripper) (model.Executor, error) {
		own := c // tests run in parallel
		own.BaseURL, own.APIKey, own.Headers = cmp.Or(access.BaseURL, testURL), access.APIKey, access.Headers
		return newExecutor(model.Settings{ID: vendortest.Provider}, &own, transports{transport, transport})
	}
	v.Key, v.MaskedKey = testKey, "1234567890123456789012345678901234567890123456789012JQQJ99ABCDEFACYeBjFXJ3w3AAABACOG"
	v.KeyHeader = keyHeader
	v.CheckBody = func(t testing.TB, body []byte) {
		if err := readWithSDK(c.api(), body); err != nil {
			t.Errorf("the SDK does not read the body: %v", err)
		}
	}
	v.Environment = map[string]string{
		"AZURE_OPENAI_API_KEY": "environment", "AZURE_CLIENT_ID": "environment", "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1/environment",
		"OPENAI_API_KEY": "environment", "OPENAI_API_VERSION": "environment", "IDENTITY_ENDPOINT": "http://127.0.0.1:1/environment",
	}
	query := ""
	if v.Query != "" {
		query = "?" + v.Query
	}
	v.URLs = map[string]string{
		"":                      testURL + v.Path + query,
		testURL + "/":           testURL + v.Path + query,
		"http://localhost:1/gw": "http://localhost:1/gw" + v.Path + query,
	}
	v.Model = testModel
	v.Conversation = func() *model.Request { return vendortest.FullConversation(testModel) }
	v.Calls = "calls"
	v.Patience = 100 * time.Millisecond
	v.Refusal = `{"error":{"message":%q}}`
	return &v
}

func TestVendor(t *testing.T) {
	for name, v := range vendors {
		t.Run(name, func(t *testing.T) { vendortest.Run(t, v) })
	}
}

func TestErrorsOfAzure(t *testing.T) {
	v := vendors["deployment"]
	v.CheckRefusal(t, 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, model.ModelNotFound, "deployment")
	v.CheckRefusal(t, 404, `{"error":{"code":"404","message":"Resource not found"}}`, model.InvalidRequest, "api_version")
	v.CheckRefusal(t, 401, `{"error":{"code":"PermissionDenied","message":"The principal lacks the required data action"}}`, model.Unauthorized, "principal")
	v.CheckRefusal(t, 400, `{"error":{"code":"content_filter","message":"The response was filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, model.ContentFiltered, "filtered")
	v.CheckRefusal(t, 429, `{"error":{"code":"429","message":"Requests have exceeded the rate limit"}}`, model.RateLimited, "rate limit")
}
