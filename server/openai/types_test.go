package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server/openai/internal/chat"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// samples are values of each JSON type, by the first letter of its name.
var samples = map[string]string{"s": `"x"`, "n": `7`, "b": `true`, "l": `[1]`, "o": `{"x":1}`}

// parameterTypes are the JSON types of the parameters of both protocols.
var parameterTypes = map[string]string{
	"model": "s", "messages": "l", "stream": "b", "stream_options": "o", "tools": "l", "tool_choice": "so", "response_format": "o", "max_completion_tokens": "n",
	"max_tokens": "n", "reasoning_effort": "s", "verbosity": "s", "seed": "n", "stop": "sl", "presence_penalty": "n", "frequency_penalty": "n", "logit_bias": "o", "n": "n",
	"logprobs": "b", "modalities": "l", "store": "b", "audio": "o", "prediction": "o", "web_search_options": "o", "functions": "l", "function_call": "so",
	"temperature": "n", "top_p": "n", "parallel_tool_calls": "b", "metadata": "o", "user": "s", "safety_identifier": "s", "prompt_cache_key": "s", "prompt_cache_options": "o",
	"prompt_cache_retention": "s", "service_tier": "s", "top_logprobs": "n", "moderation": "o",
	"input": "sl", "instructions": "s", "background": "b", "previous_response_id": "s", "conversation": "so", "max_output_tokens": "n", "max_tool_calls": "n", "reasoning": "o",
	"text": "o", "include": "l", "truncation": "s", "prompt": "o", "context_management": "l", "image": "o", "access_programs": "l", "background_options": "o",
}

// TestRejectionsNameThePlace names the place of a value in items, content and parameters that are kept.
func TestRejectionsNameThePlace(t *testing.T) {
	t.Parallel()
	w := serving(t)
	asked := get[result](w, "POST /v1/responses", respond(`"weather"`, `,"tools":[`+weatherFunction+`]`))
	approval := fmt.Sprintf(`[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]`, asked.Output[0].CallID)
	conversation := "POST /v1/conversations/" + get[responses.ConversationView](w, "POST /v1/conversations", `{}`).ID
	long := fmt.Sprintf("%q", strings.Repeat("x", 2<<20))
	for _, tt := range []struct{ request, body, want string }{
		{"POST /v1/responses", respond(`[{"role":"user","content":"x"},{"type":"mcp_approval_response","approve":"yes"}]`, ""), "invalid_request input[1].approve"},
		{"POST /v1/responses", respond(`["hi"]`, ""), "invalid_request input[0]"},
		{"POST /v1/responses", respond(`[{"role":"user","content":[{"type":"input_text","text":7}]}]`, ""), "invalid_request input[0].content[0].text"},
		{"POST /v1/responses", respond(approval, `,"previous_response_id":"`+asked.ID+`"`), "invalid_value input"},
		{"POST /v1/responses", respond(`"hi"`, `,"instructions":`+long), "invalid_value instructions"},
		{"POST /v1/responses", respond(`"hi"`, `,"user":`+long), "invalid_value user"},
		{"POST /v1/chat/completions", chatBody(`{"role":"user","content":[7]}`, ""), "invalid_request messages[0].content[0]"},
		{"POST /v1/chat/completions", chatBody(said("hi"), `,"user":`+long), "invalid_value user"},
		{conversation, `{"items":[]}`, "unsupported_parameter items"},
		{conversation + "/items", `{}`, "missing_required_parameter items"},
		{conversation + "/items", `{"items":[7]}`, "invalid_request items[0]"},
		{conversation + "/items", `{"items":[{"role":"user","content":` + long + `}]}`, "invalid_value items"},
	} {
		if got := w.failing("alice", tt.request, tt.body, http.StatusBadRequest); got != tt.want {
			t.Errorf("%s with %.200s gives %s and should give %s", tt.request, tt.body, got, tt.want)
		}
	}
}

// TestParametersOfAWrongTypeAreRejectedByName: whatever a parameter is used for.
func TestParametersOfAWrongTypeAreRejectedByName(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for request, table := range map[string][]run.Parameter{"POST /v1/chat/completions": chat.Parameters, "POST /v1/responses": responses.Parameters} {
		for _, p := range table {
			right, known := parameterTypes[p.Name]
			if !known {
				t.Errorf("%s: %s has no type here", request, p.Name)
			}
			for typ, value := range samples {
				if typ == "l" && right == "l" && p.Use == run.Ignored { // whose elements have a type, too
					right = ""
				}
				if strings.Contains(right, typ) {
					continue
				}
				body := map[string]json.RawMessage{
					"model": json.RawMessage(`"clerk"`), "messages": json.RawMessage("[" + said("hi") + "]"), "input": json.RawMessage(`"hi"`),
				}
				body[p.Name] = json.RawMessage(value)
				data, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				_, param, _ := strings.Cut(w.failing("alice", request, string(data), http.StatusBadRequest), " ")
				if name, _, _ := strings.Cut(param, "["); name != p.Name {
					t.Errorf("%s with %s: %s names %s", request, p.Name, value, param)
				}
			}
		}
	}
}
