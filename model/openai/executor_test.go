package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

// TestHeaders checks that the charged account is sent.
func TestHeaders(t *testing.T) {
	for _, tt := range []Config{{}, {Organization: "org-1", Project: "proj-1"}} {
		e := offline(t, tt, func(r *http.Request) (*http.Response, error) {
			if org, project := r.Header.Get("OpenAI-Organization"), r.Header.Get("OpenAI-Project"); org != tt.Organization || project != tt.Project {
				t.Errorf("%q and %q are charged, want %q and %q", org, project, tt.Organization, tt.Project)
			}
			return vendortest.StreamResponse(r, bytes.NewReader(vendors[Responses].Recorded(t, "text"))), nil
		})
		if _, failure := vendortest.Ask(t, e, hello()); failure != nil {
			t.Fatal(failure)
		}
	}
}

func TestModelsOnAzureAreOfAVendorOfTheirOwn(t *testing.T) {
	for base, want := range map[string]string{
		"": "openai", "http://localhost:11434/v1": "openai", "https://openai.azure.com.example/v1": "openai",
		"https://acme.openai.azure.com/openai/v1": "azure-openai", "https://ACME.services.ai.azure.com/openai/v1/": "azure-openai",
	} {
		e, err := New(model.Settings{ID: "p"}, &Config{BaseURL: base})
		if err != nil || e.Vendor() != want {
			t.Errorf("%q is of %s, %v", base, e.Vendor(), err)
		}
	}
}

// TestConcessions checks which features are omitted after a model rejected them, and that this is
// remembered if it is inherent to the model.
func TestConcessions(t *testing.T) {
	refusal := func(param, code string) string {
		return `{"error":{"message":"Not supported with this model.","type":"invalid_request_error","param":"` + param + `","code":"` + code + `"}}`
	}
	thought := func() *model.Request {
		req := hello()
		req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Parts: []model.Part{
			vendortest.Reasoning("x", "gAAA", "rs_1"), model.Text("a"),
		}}, model.User("b"))
		req.ReasoningEffort = &spec.Effort{Level: "max"}
		req.Tools = []model.Tool{{Name: "look", Description: strings.Repeat("é", 600) + " the end"}}
		req.ToolChoice.Mode = model.ToolsRequired
		req.Output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}
		return req
	}
	for _, tt := range []struct {
		name    string
		api     API
		marker  string // the rejected text, as in the body
		refusal string
		first   int32 // requests of the first call
		later   int32 // and of the second
	}{
		{"encrypted reasoning", Responses, `"include":`, refusal("include", ""), 2, 1},
		{"summary", Responses, `"summary":"auto"`, refusal("reasoning.summary", "unsupported_parameter"), 2, 1},
		{"max effort", Responses, `"effort":"max"`, refusal("reasoning.effort", "unsupported_value"), 2, 1},
		{"xhigh effort", Responses, `"reasoning":{"effort":"`, refusal("reasoning.effort", "unsupported_value"), 3, 1},
		{"effort in chat", ChatCompletions, `"reasoning_effort":"max"`, refusal("reasoning_effort", "unsupported_value"), 2, 1},
		{"every effort", ChatCompletions, `"reasoning_effort":`, `{"error":{"message":"litellm.UnsupportedParamsError: local does not support parameters: ['reasoning_effort'], for model=x.","type":"None","param":"None","code":"400"}}`, 4, 1},
		{"choice of tools", ChatCompletions, `"tool_choice":`, `{"error":{"message":"this model does not support this tool_choice","type":"invalid_request_error"}}`, 2, 1},
		{"choice of tools", Responses, `"tool_choice":`, refusal("tool_choice", "unsupported_parameter"), 2, 1},
		{"form of the answer", ChatCompletions, `"response_format":`, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'response_format')}]","type":"BadRequestError","code":400}`, 2, 1},
		{"form of the answer", Responses, `"text":{"format"`, refusal("text.format", "unsupported_parameter"), 2, 1},
		{"a schema", Responses, `"strict":true`, refusal("text.format.schema", "invalid_json_schema"), 2, 2},
		{"a schema", ChatCompletions, `"strict":true`, `{"error":{"message":"Invalid schema for response_format 'output': 'x' is not permitted.","type":"invalid_request_error","param":"response_format","code":null}}`, 2, 2},
		{"every schema", ChatCompletions, `"response_format":`, `{"error":{"message":"Invalid schema for response_format 'output'.","param":"response_format"}}`, 2, 2},
		{"foreign reasoning", Responses, `"encrypted_content":`, refusal("", "invalid_encrypted_content"), 2, 2},
		{"long descriptions", ChatCompletions, `the end"`, refusal("tools[0].function.description", "string_above_max_length"), 2, 1},
		{"long descriptions", Responses, `the end"`, refusal("tools[0].description", "string_above_max_length"), 2, 1},
		{"something else", Responses, `"model":`, refusal("model", ""), 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int32
			baseURL, transport := vendortest.Listen(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				sent := vendors[tt.api].CheckRequest(t, r)
				if strings.Contains(string(sent), tt.marker) && tt.name != "xhigh effort" ||
					tt.name == "xhigh effort" && (strings.Contains(string(sent), `"max"`) || strings.Contains(string(sent), `"xhigh"`)) {
					vendortest.Refuse(http.StatusBadRequest, tt.refusal)(w, r)
					return
				}
				vendortest.Answer(vendors[tt.api].Recorded(t, "text"))(w, r)
			})
			e := vendortest.Make(t, newExecutor, Config{APIKey: testKey, BaseURL: baseURL, API: tt.api, ReasoningSummary: "auto"}, transport)
			for i, want := range []int32{tt.first, tt.later} {
				asked.Store(0)
				_, failure := vendortest.Ask(t, e, thought())
				if asked.Load() != want || (failure != nil) != (tt.name == "something else" || tt.name == "every schema") {
					t.Errorf("call %d: asked %d times, then %v; want %d times", i, asked.Load(), failure, want)
				}
			}
		})
	}
}
