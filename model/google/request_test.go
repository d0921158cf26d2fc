package google

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
func conversation(name string) *model.Request {
	temperature, topP := 0.2, 0.9
	return &model.Request{
		Model: name,
		Messages: []model.Message{
			model.System("Be <brief> & kind."), model.System("Never guess."),
			{Role: model.RoleUser, Parts: []model.Part{
				model.Text("What is this?"),
				{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: png}},
				{Type: model.PartImage, Blob: &model.Blob{URI: "https://example.com/a.png"}},
				{Type: model.PartFile, Blob: &model.Blob{Data: []byte("%PDF-1.7"), Name: "a.pdf"}},
				{Type: model.PartFile, Blob: &model.Blob{MediaType: "text/csv; charset=utf-8", URI: "https://example.com/files/1"}},
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{
				reasoning("Think.", ""), model.Text("Let me see."), reasoning("", "gemini:text:c2lnLXRleHQ="),
				reasoning("Go.", "gemini:call:c2lnLWNhbGw="),
				vendortest.ToolCall("call_0_0", "look", `{"x":9007199254740993,"y":"<b>"}`), vendortest.ToolCall("call_0_1", "look", ``), vendortest.ToolCall("call_0_2", "look", `{"broken`),
			}},
			{Role: model.RoleTool, Parts: []model.Part{
				vendortest.ToolResult("call_0_0", "look", false, model.Text("A "), model.Text("cat.")),
				vendortest.ToolResult("call_0_1", "", true, model.Text("no such file")),
				vendortest.ToolResult("call_0_2", "look", true),
			}},
			model.System("Time is short."),
			{Role: model.RoleAssistant, Parts: []model.Part{reasoning("Cut off.", "")}},
			model.User("Go on."), model.User(""),
		},
		Tools: []model.Tool{
			{
				Name: "look", Description: "Looks <at> it",
				Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`),
				Output:     json.RawMessage(`{"type":"string"}`),
			},
			{Name: "now"},
		},
		SessionID: "session-1",
		Params: model.Params{
			Temperature: &temperature, TopP: &topP, MaxOutputTokens: 2048, ReasoningEffort: &spec.Effort{Level: "low"},
		},
	}
}

// sent returns the body of a request, checked as the vendor would.
func sent(t testing.TB, req *model.Request) string {
	t.Helper()
	before := vendortest.JSON(t, req)
	data, err := offline(t, Config{}, nil).encodeRequest(req, formOf(req), thinkingSupport{})
	if err != nil {
		t.Fatal(err)
	}
	checkBody(t, data)
	if after := vendortest.JSON(t, req); after != before {
		t.Errorf("the request was modified:\n%s\n%s", before, after)
	}
	return string(data)
}

// encoded returns the body in the vendor's types.
func encoded(t testing.TB, req *model.Request) *vendorBody {
	t.Helper()
	return checkBody(t, []byte(sent(t, req)))
}

const wholeBody = `{
	"systemInstruction":{"parts":[{"text":"Be <brief> & kind."},{"text":"Never guess."}]},
	"contents":[
		{"role":"user","parts":[
			{"text":"What is this?"},
			{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoxMjM0"}},
			{"fileData":{"fileUri":"https://example.com/a.png"}},
			{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0xLjc="}},
			{"fileData":{"mimeType":"text/csv","fileUri":"https://example.com/files/1"}}]},
		{"role":"model","parts":[
			{"text":"Let me see.","thoughtSignature":"c2lnLXRleHQ="},
			{"functionCall":{"id":"call_0_0","name":"look","args":{"x":9007199254740993,"y":"<b>"}},"thoughtSignature":"c2lnLWNhbGw="},
			{"functionCall":{"id":"call_0_1","name":"look"}},
			{"functionCall":{"id":"call_0_2","name":"look","args":{"malformed":"{\"broken"}}}]},
		{"role":"user","parts":[
			{"functionResponse":{"id":"call_0_0","name":"look","response":{"output":"A \ncat."}}},
			{"functionResponse":{"id":"call_0_1","name":"look","response":{"error":"no such file"}}},
			{"functionResponse":{"id":"call_0_2","name":"look","response":{"error":"the call failed"}}}]},
		{"role":"user","parts":[{"text":"Time is short."}]},
		{"role":"user","parts":[{"text":"Go on."}]}],
	"generationConfig":{"temperature":0.2,"topP":0.9,"maxOutputTokens":2048,"thinkingConfig":{"includeThoughts":true,THINKING}},
	"tools":[{"functionDeclarations":[
		{"name":"look","description":"Looks <at> it",
			"parametersJsonSchema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},
			"responseJsonSchema":{"type":"string"}},
		{"name":"now"}]}]}`

// TestRequestBody sends the conversation over loopback, checks it against the API, and compares it
// with the expected body.
func TestRequestBody(t *testing.T) {
	for name, thinking := range map[string]string{
		oldModel: `"thinkingBudget":1024`,
		newModel: `"thinkingLevel":"LOW"`,
	} {
		t.Run(name, func(t *testing.T) {
			body := vendor.Sent(t, conversation(name))
			want := strings.Replace(wholeBody, "THINKING", thinking, 1)
			if diff := cmp.Diff(parse(t, want), parse(t, body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if strings.Contains(body, `\u003c`) {
				t.Errorf("texts are escaped for HTML: %s", body)
			}
		})
	}
}

// TestSmallestBody checks that only requested fields are sent.
func TestSmallestBody(t *testing.T) {
	want := `{"contents":[{"parts":[{"text":"Hello"}],"role":"user"}]}`
	if got := sent(t, hello()); got != want {
		t.Errorf("the body is %s, want %s", got, want)
	}
}

// TestSignatures checks with which part of an answer a signature is returned.
func TestSignatures(t *testing.T) {
	call := `{"functionCall":{"id":"c","name":"look"}`
	skip := `,"thoughtSignature":"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="}`
	for _, tt := range []struct {
		name     string
		parts    []model.Part
		new, old string
	}{
		{"of a call", []model.Part{reasoning("x", "gemini:call:YQ=="), vendortest.ToolCall("c", "look", "")},
			call + `,"thoughtSignature":"YQ=="}`, call + `,"thoughtSignature":"YQ=="}`},
		{"of the second call", []model.Part{vendortest.ToolCall("c", "look", ""), reasoning("", "gemini:call:YQ=="), vendortest.ToolCall("c", "look", "")},
			call + skip + `,` + call + `,"thoughtSignature":"YQ=="}`, call + `},` + call + `,"thoughtSignature":"YQ=="}`},
		{"of a text before a call", []model.Part{model.Text("a"), reasoning("", "gemini:text:YQ=="), vendortest.ToolCall("c", "look", "")},
			`{"text":"a","thoughtSignature":"YQ=="},` + call + skip, `{"text":"a","thoughtSignature":"YQ=="},` + call + `}`},
		{"of one text of two", []model.Part{model.Text("a"), reasoning("", "gemini:text:YQ=="), model.Text("b")},
			`{"text":"a","thoughtSignature":"YQ=="},{"text":"b"}`, `{"text":"a","thoughtSignature":"YQ=="},{"text":"b"}`},
		{"of a call that is gone", []model.Part{reasoning("", "gemini:call:YQ=="), model.Text("b"), vendortest.ToolCall("c", "look", "")},
			`{"text":"b"},` + call + skip, `{"text":"b"},` + call + `}`},
		{"of a text that is gone", []model.Part{reasoning("", "gemini:text:YQ=="), model.Text("b")}, `{"text":"b"}`, `{"text":"b"}`},
		{"another vendor's", []model.Part{reasoning("x", "gAAAA"), model.Text("b"), vendortest.ToolCall("c", "look", ""), vendortest.ToolCall("c", "look", "")},
			`{"text":"b"},` + call + skip + `,` + call + `}`, `{"text":"b"},` + call + `},` + call + `}`},
		{"in another alphabet", []model.Part{reasoning("", "gemini:call:-_8"), vendortest.ToolCall("c", "look", "")},
			call + `,"thoughtSignature":"+/8="}`, call + `,"thoughtSignature":"+/8="}`},
		{"damaged", []model.Part{reasoning("x", "gemini:call:%%"), vendortest.ToolCall("c", "look", "")}, call + skip, call + `}`},
	} {
		for name, want := range map[string]string{newModel: tt.new, oldModel: tt.old} {
			req := hello()
			req.Model = name
			req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Parts: tt.parts})
			got := parse(t, sent(t, req)).(map[string]any)["contents"].([]any)[1].(map[string]any)["parts"]
			if diff := cmp.Diff(parse(t, `[`+want+`]`), got); diff != "" {
				t.Errorf("the signature %s for %s (-want +got):\n%s", tt.name, name, diff)
			}
		}
	}
}

// TestAnswersGoBackAsTheyCame checks that the parts of a streamed answer are returned to the vendor
// with their signatures and arguments, digit for digit.
func TestAnswersGoBackAsTheyCame(t *testing.T) {
	events, failure := vendortest.Ask(t, vendor.Serve(t, vendortest.Answer(vendor.Recorded(t, "calls"))), hello())
	if failure != nil {
		t.Fatal(failure)
	}
	req := hello()
	req.Messages = append(req.Messages, vendortest.Assemble(t, events).Message())
	got := parse(t, sent(t, req)).(map[string]any)["contents"].([]any)[1]
	want := parse(t, `{"role":"model","parts":[{"text":"Looking."},
		{"functionCall":{"id":"call_0_0","name":"weather","args":{"city":"Paris","station":9007199254740993}},"thoughtSignature":"c2lnLWNhbGw="},
		{"functionCall":{"id":"call_0_1","name":"weather","args":{"city":"Oslo","days":3}}},
		{"functionCall":{"id":"call_0_2","name":"now","args":{}}}]}`)
	// Empty and absent objects are indistinguishable.
	delete(want.(map[string]any)["parts"].([]any)[3].(map[string]any)["functionCall"].(map[string]any), "args")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
}

// TestResults checks results that are not only text.
func TestResults(t *testing.T) {
	blobs := []model.Part{
		model.Text("a cat"),
		{Type: model.PartImage, Blob: &model.Blob{Data: png}},
		{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/pdf", URI: "https://example.com/a.pdf"}},
	}
	const (
		image = `{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoxMjM0"}}`
		file  = `{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/a.pdf"}}`
	)
	for _, tt := range []struct {
		model   string
		content []model.Part
		want    string
	}{
		{newModel, blobs, `[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"output":"a cat"},"parts":[` + image + `]}}]},
			{"role":"user","parts":[` + file + `]}]`},
		{oldModel, blobs, `[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"output":"a cat"}}}]},
			{"role":"user","parts":[` + image + `,` + file + `]}]`},
		{newModel, nil, `[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"output":""}}}]}]`},
		{newModel, []model.Part{model.Text(` {"a": 9007199254740993, "b": "<"}`)},
			`[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"output":{"a":9007199254740993,"b":"<"}}}}]}]`},
		{newModel, []model.Part{model.Text(`[1]`)}, `[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"output":[1]}}}]}]`},
		{newModel, []model.Part{model.Text(`{"a":`)}, `[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"output":"{\"a\":"}}}]}]`},
		{newModel, []model.Part{model.Text(`17`)}, `[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"output":"17"}}}]}]`},
	} {
		req := hello()
		req.Model = tt.model
		req.Messages = append(req.Messages,
			model.Message{Role: model.RoleAssistant, Parts: []model.Part{vendortest.ToolCall("c", "look", `{}`)}},
			model.Message{Role: model.RoleTool, Parts: []model.Part{vendortest.ToolResult("c", "look", false, tt.content...)}})
		got := parse(t, sent(t, req)).(map[string]any)["contents"].([]any)[2:]
		if diff := cmp.Diff(parse(t, tt.want), any(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.model, diff)
		}
	}
}

// TestResultsOfOneAnswerGoTogether checks that results in several messages become one content, as
// the vendor requires.
func TestResultsOfOneAnswerGoTogether(t *testing.T) {
	req := hello()
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, Parts: []model.Part{vendortest.ToolCall("a", "look", `{}`), vendortest.ToolCall("b", "now", `{}`)}},
		model.Message{Role: model.RoleTool, Parts: []model.Part{vendortest.ToolResult("a", "look", false, model.Text("1"))}},
		model.Message{Role: model.RoleTool, Parts: []model.Part{vendortest.ToolResult("b", "", false, model.Text("2"))}},
		model.User("Go on."))
	contents := encoded(t, req).Contents
	if len(contents) != 4 || len(contents[2].Parts) != 2 || contents[2].Parts[1].FunctionResponse.Name != "now" {
		t.Errorf("the contents are %s", vendortest.JSON(t, contents))
	}
}

// TestToolChoice checks how the choice is encoded.
func TestToolChoice(t *testing.T) {
	for choice, want := range map[model.ToolChoice]string{
		{}:                                     `null`,
		{Mode: model.ToolsNone}:                `{"functionCallingConfig":{"mode":"NONE"}}`,
		{Mode: model.ToolsRequired}:            `{"functionCallingConfig":{"mode":"ANY"}}`,
		{Mode: model.ToolsNamed, Name: "look"}: `{"functionCallingConfig":{"allowedFunctionNames":["look"],"mode":"ANY"}}`,
	} {
		req := conversation(newModel)
		req.ToolChoice = choice
		b := encoded(t, req)
		if got := vendortest.JSON(t, b.ToolConfig); got != want || len(b.Tools) != 1 || len(b.Tools[0].FunctionDeclarations) != 2 {
			t.Errorf("the choice %+v is told as %s with %s", choice, got, vendortest.JSON(t, b.Tools))
		}
		req.Tools = nil
		if b := encoded(t, req); b.ToolConfig != nil || b.Tools != nil {
			t.Errorf("the choice %+v without tools is told as %s", choice, vendortest.JSON(t, b))
		}
	}
}
