package google

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

// TestRejectedFieldsAreGivenUp simulates servers that reject the thinking parameters of requests,
// and IDs of calls.
func TestRejectedFieldsAreGivenUp(t *testing.T) {
	for i, tt := range []struct {
		has, message string
		requests     int
	}{
		{"thinkingLevel", `Invalid JSON payload received. Unknown name \"thinkingLevel\" at 'generation_config.thinking_config': Cannot find field.`, 2},
		{"thinkingConfig", `Invalid JSON payload received. Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.`, 2},
		{"thinkingLevel", "Thinking level is not supported for this model.", 2},
		{"thinkingConfig", "Thinking level is not supported for this model.", 3},
		{`"id"`, `Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot find field.\nInvalid JSON payload received. Unknown name \"id\" at 'contents[2].parts[0].function_response': Cannot find field.`, 2},
		{"thinkingConfig", "The thinking budget 99999 is invalid. Please choose a value between 512 and 24576.", 0},
	} {
		asked := 0
		e := offline(t, Config{BaseURL: fmt.Sprintf("http://rejects-%d.example", i)}, func(r *http.Request) (*http.Response, error) {
			asked++
			body, err := io.ReadAll(r.Body)
			if strings.Contains(string(body), tt.has) {
				return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"` + tt.message + `"}}`)), Request: r}, err
			}
			return vendortest.StreamResponse(r, strings.NewReader(`data: {"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`+"\n\n")), err
		})
		req := hello()
		req.ReasoningEffort = &spec.Effort{Level: "low"}
		req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c1", Name: "f", Arguments: json.RawMessage(`{}`)}}}},
			model.Message{Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: "c1", Name: "f", Content: []model.Part{model.Text("x")}}}}})
		_, failure := vendortest.Ask(t, e, req)
		if tt.requests == 0 {
			if failure == nil || asked != 1 {
				t.Errorf("%s: %d requests, %v", tt.message, asked, failure)
			}
			continue
		}
		if failure != nil || asked != tt.requests {
			t.Errorf("%s: %d requests, want %d: %v", tt.message, asked, tt.requests, failure)
		}
		if _, failure = vendortest.Ask(t, e, req); failure != nil || asked != tt.requests+1 {
			t.Errorf("%s: it is not learned: %d requests, %v", tt.message, asked, failure)
		}
	}
}
