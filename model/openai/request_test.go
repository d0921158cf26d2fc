package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

var png = []byte("\x89PNG\r\n\x1a\n1234")

// conversation is a request that uses every feature.
func conversation() *model.Request {
	temperature, topP := 0.2, 0.9
	return &model.Request{
		Model: "gpt-6-astra",
		Messages: []model.Message{
			model.System("Be <brief> & kind."),
			{Role: model.RoleUser, Parts: []model.Part{
				model.Text("What is this?"),
				{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: png}},
				{Type: model.PartImage, Blob: &model.Blob{URI: "https://example.com/a.png"}},
				{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/pdf", Data: []byte("%PDF-1.7")}},
				{Type: model.PartFile, Blob: &model.Blob{MediaType: "text/csv; charset=utf-8", Data: []byte("a,b"), Name: "table.csv"}},
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{
				vendortest.Reasoning("Think.", "gAAA-1", "rs_1"), model.Text("Let me "), model.Text("see."),
				vendortest.ToolCall("call_1", "look", `{"x":1}`), vendortest.ToolCall("call_2", "look", ``), vendortest.ToolCall("call_3", "look", `{"broken`),
			}},
			{Role: model.RoleTool, Parts: []model.Part{
				result("call_1", false, model.Text("A "), model.Text("cat.")),
				result("call_2", true, model.Text("no such file")),
				result("call_3", true),
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{vendortest.Reasoning("Cut off.", "gAAA-2", "rs_2")}},
			model.User("Go on."), model.User(""),
		},
		Tools: []model.Tool{
			{Name: "look", Description: "Looks <at> it", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)},
			{Name: "now"},
		},
		SessionID: "session-1",
		Params: model.Params{
			Temperature: &temperature, TopP: &topP, MaxOutputTokens: 2048, ReasoningEffort: &spec.Effort{Level: "low"},
		},
	}
}

func result(id string, failed bool, content ...model.Part) model.Part {
	return vendortest.ToolResult(id, "look", failed, content...)
}

const (
	pngURL = "data:image/png;base64,iVBORw0KGgoxMjM0"
	pdfURL = "data:application/pdf;base64,JVBERi0xLjc="
	csvURL = "data:text/csv;base64,YSxi"
)

// TestRequestBody sends the conversation over loopback, checks it against the API, and compares it
// with the expected body.
func TestRequestBody(t *testing.T) {
	for api, want := range map[API]string{
		Responses: `{
			"model":"gpt-6-astra","store":false,"stream":true,"include":["reasoning.encrypted_content"],
			"temperature":0.2,"top_p":0.9,"max_output_tokens":2048,"reasoning":{"effort":"low"},"prompt_cache_key":"session-1",
			"input":[
				{"role":"system","content":"Be <brief> & kind."},
				{"role":"user","content":[
					{"type":"input_text","text":"What is this?"},
					{"type":"input_image","detail":"auto","image_url":"` + pngURL + `"},
					{"type":"input_image","detail":"auto","image_url":"https://example.com/a.png"},
					{"type":"input_file","filename":"file.pdf","file_data":"` + pdfURL + `"},
					{"type":"input_file","filename":"table.csv","file_data":"` + csvURL + `"}]},
				{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Think."}],"encrypted_content":"gAAA-1"},
				{"role":"assistant","content":"Let me see."},
				{"type":"function_call","call_id":"call_1","name":"look","arguments":"{\"x\":1}"},
				{"type":"function_call","call_id":"call_2","name":"look","arguments":"{}"},
				{"type":"function_call","call_id":"call_3","name":"look","arguments":"{\"malformed\":\"{\\\"broken\"}"},
				{"type":"function_call_output","call_id":"call_1","output":"A \ncat."},
				{"type":"function_call_output","call_id":"call_2","output":"error: no such file"},
				{"type":"function_call_output","call_id":"call_3","output":"error: the call failed"},
				{"role":"user","content":"Go on."}],
			"tools":[
				{"type":"function","name":"look","description":"Looks <at> it","strict":false,"parameters":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},
				{"type":"function","name":"now","strict":false,"parameters":{"type":"object","properties":{}}}]}`,
		ChatCompletions: `{
			"model":"gpt-6-astra","stream":true,"stream_options":{"include_usage":true},
			"temperature":0.2,"top_p":0.9,"max_completion_tokens":2048,"reasoning_effort":"low","prompt_cache_key":"session-1",
			"messages":[
				{"role":"system","content":"Be <brief> & kind."},
				{"role":"user","content":[
					{"type":"text","text":"What is this?"},
					{"type":"image_url","image_url":{"url":"` + pngURL + `"}},
					{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},
					{"type":"file","file":{"filename":"file.pdf","file_data":"` + pdfURL + `"}},
					{"type":"file","file":{"filename":"table.csv","file_data":"` + csvURL + `"}}]},
				{"role":"assistant","content":"Let me see.","tool_calls":[
					{"type":"function","id":"call_1","function":{"name":"look","arguments":"{\"x\":1}"}},
					{"type":"function","id":"call_2","function":{"name":"look","arguments":"{}"}},
					{"type":"function","id":"call_3","function":{"name":"look","arguments":"{\"malformed\":\"{\\\"broken\"}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"A \ncat."},
				{"role":"tool","tool_call_id":"call_2","content":"error: no such file"},
				{"role":"tool","tool_call_id":"call_3","content":"error: the call failed"},
				{"role":"user","content":"Go on."}],
			"tools":[
				{"type":"function","function":{"name":"look","description":"Looks <at> it","strict":false,"parameters":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}},
				{"type":"function","function":{"name":"now","strict":false,"parameters":{"type":"object","properties":{}}}}]}`,
	} {
		t.Run(string(api), func(t *testing.T) {
			if diff := cmp.Diff(parse(t, want), parse(t, vendors[api].Sent(t, conversation()))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func parse(t testing.TB, data string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	return v
}

// body returns the encoded request, checked against the API.
func body(t testing.TB, api API, req *model.Request, c concessions) string {
	t.Helper()
	data, err := offline(t, Config{API: api}, nil).encodeRequest(req, c)
	if err != nil {
		t.Fatal(err)
	}
	checkBody(t, api, data)
	return string(data)
}

// TestSmallestBody checks that only requested fields are sent.
func TestSmallestBody(t *testing.T) {
	for api, want := range map[API]string{
		Responses:       `{"model":"gpt-6-astra","store":false,"stream":true,"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"Hello"}]}`,
		ChatCompletions: `{"model":"gpt-6-astra","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hello"}]}`,
	} {
		if diff := cmp.Diff(parse(t, want), parse(t, body(t, api, hello(), concessions{}))); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", api, diff)
		}
	}
}

// TestReasoningThatCannotGoBack checks which reasoning is omitted.
func TestReasoningThatCannotGoBack(t *testing.T) {
	for name, parts := range map[string][]model.Part{
		"nothing follows":          {vendortest.Reasoning("x", "gAAA", "rs_1")},
		"only another one follows": {vendortest.Reasoning("x", "gAAA", "rs_1"), vendortest.Reasoning("x", "gAAA", "rs_1")},
		"no encrypted form":        {vendortest.Reasoning("x", "", "rs_1"), model.Text("a")},
		"another vendor's":         {vendortest.Reasoning("x", "gAAA", ""), model.Text("a")},
	} {
		req := hello()
		req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Parts: parts}, model.User("b"))
		if sent := body(t, Responses, req, concessions{}); strings.Contains(sent, `"type":"reasoning"`) {
			t.Errorf("%s: %s", name, sent)
		}
	}
	req := hello()
	req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Parts: []model.Part{
		vendortest.Reasoning("", "gAAA", "rs_1"), vendortest.ToolCall("call_1", "look", `{}`),
	}})
	if sent := body(t, Responses, req, concessions{}); !strings.Contains(sent, `"type":"reasoning"`) {
		t.Errorf("reasoning before a call is left out: %s", sent)
	}
	if sent := body(t, Responses, req, concessions{forgetReasoning: true}); strings.Contains(sent, `"type":"reasoning"`) {
		t.Errorf("reasoning is not forgotten: %s", sent)
	}
}

// TestResultsWithImages checks results that are not only text.
func TestResultsWithImages(t *testing.T) {
	req := hello()
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, Parts: []model.Part{vendortest.ToolCall("call_1", "look", `{}`)}},
		model.Message{Role: model.RoleTool, Parts: []model.Part{result("call_1", false,
			model.Text("a cat"),
			model.Part{Type: model.PartImage, Blob: &model.Blob{Data: png}},
			model.Part{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/pdf", URI: "https://example.com/a.pdf"}},
			model.Part{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/pdf", Data: []byte("%PDF-1.7")}},
		)}},
	)
	for api, want := range map[API]string{
		Responses: `"output":[{"type":"input_text","text":"a cat"},{"type":"input_image","detail":"auto","image_url":"` + pngURL + `"},` +
			`{"type":"input_file","file_url":"https://example.com/a.pdf"},{"type":"input_file","file_data":"` + pdfURL + `","filename":"file.pdf"}]`,
		ChatCompletions: `"content":"a cat\n[image of type image/png, which cannot be shown]` +
			`\n[file of type application/pdf, which cannot be shown]\n[file of type application/pdf, which cannot be shown]"`,
	} {
		if sent := body(t, api, req, concessions{}); !strings.Contains(sent, want) {
			t.Errorf("%s: the result is not sent as %s:\n%s", api, want, sent)
		}
	}
}

// TestFiles checks files alone.
func TestFiles(t *testing.T) {
	file := func(b *model.Blob) *model.Request {
		return &model.Request{Model: "m", Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Type: model.PartFile, Blob: b}}}}}
	}
	byURL := file(&model.Blob{MediaType: "application/pdf", URI: "https://example.com/a.pdf", Name: "a.pdf"})
	if sent := body(t, Responses, byURL, concessions{}); !strings.Contains(sent, `{"type":"input_file","file_url":"https://example.com/a.pdf"}`) {
		t.Errorf("file by URL: %s", sent)
	}
	_, err := offline(t, Config{API: ChatCompletions}, nil).encodeRequest(byURL, concessions{})
	if failure := model.AsError(err); failure.Class != model.InvalidRequest {
		t.Errorf("chat completions with a file by URL: %v", failure)
	}
	wav := file(&model.Blob{MediaType: "audio/wav", Data: []byte("RIFF")})
	if sent := body(t, ChatCompletions, wav, concessions{}); !strings.Contains(sent, `"input_audio":{"data":"UklGRg==","format":"wav"}`) {
		t.Errorf("recording: %s", sent)
	}
	for media, want := range map[string]string{
		"application/pdf": "file.pdf", "application/json": "file.json", "text/csv": "file.csv", "text/markdown": "file.md",
		"text/html": "file.html", "text/plain; charset=utf-8": "file.txt", "application/zip": "file", "": "file.txt",
	} {
		if got := fileName(&model.Blob{MediaType: media, Data: []byte("x")}); got != want {
			t.Errorf("a file of type %q is called %q, want %q", media, got, want)
		}
	}
}

// TestEffort checks levels and budgets of reasoning effort.
func TestEffort(t *testing.T) {
	for _, tt := range []struct {
		effort spec.Effort
		want   string
	}{
		{spec.Effort{Level: "none"}, "none"},
		{spec.Effort{Level: "off"}, "none"},
		{spec.EffortPercent(0), "none"},
		{spec.EffortPercent(35), "low"},
		{spec.EffortPercent(36), "medium"},
		{spec.EffortPercent(66), "high"},
		{spec.EffortPercent(100), "high"},
		{spec.Effort{Level: "low"}, "low"},
		{spec.Effort{Level: "medium"}, "medium"},
		{spec.Effort{Level: "high"}, "high"},
		{spec.Effort{Level: "max"}, "max"},
		{spec.Effort{Budget: 1}, "low"},
		{spec.Effort{Budget: 1024}, "low"},
		{spec.Effort{Budget: 4607}, "low"},
		{spec.Effort{Budget: 4608}, "medium"},
		{spec.Effort{Budget: 8192}, "medium"},
		{spec.Effort{Budget: 16384}, "high"},
		{spec.Effort{Budget: 1 << 20}, "high"},
		{spec.Effort{}, ""},
	} {
		req := hello()
		req.ReasoningEffort = &tt.effort
		if got := string(concessions{}.reasoningEffort(req)); got != tt.want {
			t.Errorf("effort %s is sent as %q, want %q", tt.effort, got, tt.want)
		}
		for _, api := range []API{Responses, ChatCompletions} {
			body(t, api, req, concessions{})
		}
	}
}

// TestRefusedEffort checks which level replaces a level that a model does not know.
func TestRefusedEffort(t *testing.T) {
	for _, tt := range []struct {
		effort  spec.Effort
		refused []string
		want    string
	}{
		{spec.Effort{Level: "off"}, []string{"none"}, "minimal"},
		{spec.Effort{Level: "off"}, []string{"none", "minimal"}, "low"},
		{spec.Effort{Level: "off"}, []string{"none", "minimal", "low"}, ""},
		{spec.Effort{Level: "max"}, []string{"max"}, "xhigh"},
		{spec.Effort{Level: "max"}, []string{"none", "max", "xhigh"}, "high"},
		{spec.Effort{Level: "medium"}, []string{"max"}, "medium"},
		{spec.Effort{Level: "medium"}, []string{"medium"}, ""},
	} {
		req, c := hello(), concessions{}
		req.ReasoningEffort = &tt.effort
		for _, level := range tt.refused {
			c.refusedEfforts |= setOf(effortLevel(level))
		}
		if got := string(c.reasoningEffort(req)); got != tt.want {
			t.Errorf("effort %s without %v is sent as %q, want %q", tt.effort, tt.refused, got, tt.want)
		}
	}
}

// TestCacheKey checks that a long session id is made to fit.
func TestCacheKey(t *testing.T) {
	long := strings.Repeat("session/", 12)
	for _, api := range []API{Responses, ChatCompletions} {
		req := hello()
		req.SessionID = long
		sent, again := body(t, api, req, concessions{}), body(t, api, req, concessions{})
		if strings.Contains(sent, long) || sent != again {
			t.Errorf("%s: %s\n%s", api, sent, again)
		}
	}
	if cacheKey(long) == cacheKey(long+"x") {
		t.Error("two sessions have one key")
	}
}

// TestMarkError checks when a failed result is marked.
func TestMarkError(t *testing.T) {
	for text, want := range map[string]string{
		"boom": "error: boom", "Error: boom": "Error: boom", "": "error: the call failed", "err": "error: err",
	} {
		if got := markError(&model.ToolResult{IsError: true}, text); got != want {
			t.Errorf("the failed result %q reads %q, want %q", text, got, want)
		}
		if got := markError(&model.ToolResult{}, text); got != text {
			t.Errorf("the result %q reads %q", text, got)
		}
	}
}
