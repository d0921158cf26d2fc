package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

var png = []byte("\x89PNG\r\n\x1a\n1234")

func reasoning(text, encrypted string) model.Part {
	return vendortest.Reasoning(text, encrypted, "")
}

func toolResultPart(id string, failed bool, content ...model.Part) model.Part {
	return vendortest.ToolResult(id, "look", failed, content...)
}

func imagePart(b *model.Blob) model.Part { return model.Part{Type: model.PartImage, Blob: b} }

func filePart(b *model.Blob) model.Part { return model.Part{Type: model.PartFile, Blob: b} }

// conversation is a request that uses every feature.
func conversation() *model.Request {
	temperature, topP := 0.2, 0.9
	return &model.Request{
		Model: "claude-opus-5-5",
		Messages: []model.Message{
			model.System("Be <brief> & kind."), model.System(" "), model.System("Use metric units."),
			{Role: model.RoleUser, Parts: []model.Part{
				model.Text("What is this?"),
				imagePart(&model.Blob{MediaType: "image/png", Data: png}),
				imagePart(&model.Blob{URI: "https://example.com/a.png"}),
				filePart(&model.Blob{MediaType: "application/pdf", Data: []byte("%PDF-1.7")}),
				filePart(&model.Blob{MediaType: "application/pdf", URI: "https://example.com/a.pdf", Name: "a.pdf"}),
				filePart(&model.Blob{MediaType: "text/csv; charset=utf-8", Data: []byte("a,b"), Name: "table.csv"}),
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{
				reasoning("Think.", thinkingMark+"sig-1"), reasoning("", redactedMark+"blob-1"), reasoning("Other vendor's.", "gAAA"),
				model.Text("Let me see."),
				vendortest.ToolCall("toolu_1", "look", `{"x":1}`), vendortest.ToolCall("toolu_2", "look", ``), vendortest.ToolCall("call/3", "look", `{"broken`),
			}},
			model.System("Hurry."),
			{Role: model.RoleTool, Parts: []model.Part{
				toolResultPart("toolu_1", false, model.Text("A cat."), imagePart(&model.Blob{Data: png}), filePart(&model.Blob{Data: []byte("%PDF-1.7")})),
				toolResultPart("toolu_2", true, model.Text("no such file")),
			}},
			{Role: model.RoleTool, Parts: []model.Part{toolResultPart("call/3", true)}},
			{Role: model.RoleAssistant, Parts: []model.Part{reasoning("Cut off.", thinkingMark+"sig-2")}},
			model.User("Go on."), model.User("  "),
		},
		Tools: []model.Tool{
			{Name: "look", Description: "Looks <at> it", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)},
			{Name: "now"},
		},
		SessionID: "session-1",
		Cache:     true,
		Params: model.Params{
			Temperature: &temperature, TopP: &topP, MaxOutputTokens: 2048, ReasoningEffort: &spec.Effort{Level: "low"},
		},
	}
}

// TestRequestBody sends the conversation over loopback, checks it against the API, and compares it
// with the expected body.
func TestRequestBody(t *testing.T) {
	const mark = `"cache_control":{"type":"ephemeral"}`
	want := `{
		"model":"claude-opus-5-5","stream":true,"max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":1024},
		"system":[{"type":"text","text":"Be <brief> & kind."},{"type":"text","text":"Use metric units.",` + mark + `}],
		"messages":[
			{"role":"user","content":[
				{"type":"text","text":"What is this?"},
				{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoxMjM0"}},
				{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},
				{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjc="}},
				{"type":"document","title":"a.pdf","source":{"type":"url","url":"https://example.com/a.pdf"}},
				{"type":"document","title":"table.csv","source":{"type":"text","media_type":"text/plain","data":"a,b"},` + mark + `}]},
			{"role":"assistant","content":[
				{"type":"thinking","thinking":"Think.","signature":"sig-1"},
				{"type":"redacted_thinking","data":"blob-1"},
				{"type":"text","text":"Let me see."},
				{"type":"tool_use","id":"toolu_1","name":"look","input":{"x":1}},
				{"type":"tool_use","id":"toolu_2","name":"look","input":{}},
				{"type":"tool_use","id":"call_1aeb38a6edd1a181e8dca98a","name":"look","input":{"malformed":"{\"broken"}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"toolu_1","content":[
					{"type":"text","text":"A cat."},
					{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoxMjM0"}},
					{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjc="}}]},
				{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":[{"type":"text","text":"no such file"}]},
				{"type":"tool_result","tool_use_id":"call_1aeb38a6edd1a181e8dca98a","is_error":true,"content":[{"type":"text","text":"the call failed"}]},
				{"type":"text","text":"<system>\nHurry.\n</system>"},
				{"type":"text","text":"Go on.",` + mark + `}]}],
		"tools":[
			{"name":"look","description":"Looks <at> it","input_schema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},
			{"name":"now","input_schema":{"type":"object"},` + mark + `}]}`
	compareJSON(t, want, vendor.Sent(t, conversation()))
}

func compareJSON(t *testing.T, want, got string) {
	t.Helper()
	var wantValue, gotValue any
	if err := json.Unmarshal([]byte(want), &wantValue); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &gotValue); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantValue, gotValue); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// encoded returns the body of a request after checking it.
func encoded(t *testing.T, req *model.Request, c concessions) (*apiRequest, []byte) {
	t.Helper()
	p, err := offline(t, Config{}, nil).planRequest(req, c)
	if err != nil {
		t.Fatal(err)
	}
	body, err := p.encodeBody()
	if err != nil {
		t.Fatal(err)
	}
	return checkBody(t, body), body
}

func TestShortestBody(t *testing.T) {
	_, body := encoded(t, hello(), concessions{})
	compareJSON(t, `{"model":"claude-opus-5-5","max_tokens":16384,"stream":true,
		"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}`, string(body))
}

// TestEncodingLeavesTheRequestAlone encodes the same request twice: marks and additions must not
// modify the caller's data.
func TestEncodingLeavesTheRequestAlone(t *testing.T) {
	req := conversation()
	_, first := encoded(t, req, concessions{})
	_, second := encoded(t, req, concessions{})
	if string(first) != string(second) {
		t.Errorf("the second encoding differs:\n%s\n%s", first, second)
	}
	if diff := cmp.Diff(conversation(), req); diff != "" {
		t.Errorf("the request changed (-want +got):\n%s", diff)
	}
}

func TestToolChoice(t *testing.T) {
	think := &spec.Effort{Level: "high"}
	for _, tt := range []struct {
		choice   model.ToolChoice
		conceded concessions
		want     string
		budget   int
	}{
		{model.ToolChoice{}, concessions{}, ``, 8000},
		{model.ToolChoice{Mode: model.ToolsNone}, concessions{}, `{"type":"none"}`, 8000},
		{model.ToolChoice{Mode: model.ToolsRequired}, concessions{}, `{"type":"any"}`, 0},
		{model.ToolChoice{Mode: model.ToolsNamed, Name: "tool_1"}, concessions{}, `{"type":"tool","name":"tool_1"}`, 0},
		{model.ToolChoice{Mode: model.ToolsRequired}, concessions{thinksUnasked: true}, `{"type":"any"}`, -1},
		{model.ToolChoice{Mode: model.ToolsRequired}, concessions{unforced: true}, ``, 8000},
	} {
		req := hello()
		req.Tools, req.ToolChoice, req.ReasoningEffort = someTools(2), tt.choice, think
		body, raw := encoded(t, req, tt.conceded)
		var sent struct {
			ToolChoice json.RawMessage `json:"tool_choice"`
		}
		if err := json.Unmarshal(raw, &sent); err != nil {
			t.Fatal(err)
		}
		if tt.want == "" && sent.ToolChoice == nil || tt.want != "" && jsonEqual(t, tt.want, string(sent.ToolChoice)) {
			if got := budgetOf(body); got != tt.budget {
				t.Errorf("%+v: the budget is %d, want %d", tt.choice, got, tt.budget)
			}
			continue
		}
		t.Errorf("%+v: tool_choice is %s, want %s", tt.choice, sent.ToolChoice, tt.want)
	}
	req := hello()
	req.ToolChoice.Mode = model.ToolsNone
	if body, _ := encoded(t, req, concessions{}); body.ToolChoice != nil {
		t.Error("without tools there is a tool_choice")
	}
}

func jsonEqual(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return cmp.Equal(x, y)
}

// TestCacheMarks checks the positions of cache marks, and that they are absent without Cache.
func TestCacheMarks(t *testing.T) {
	req := conversation()
	req.Cache = false
	if _, body := encoded(t, req, concessions{}); strings.Contains(string(body), "cache_control") {
		t.Errorf("cache_control without being asked: %s", body)
	}
	bare := hello()
	bare.Cache = true
	body, raw := encoded(t, bare, concessions{})
	if strings.Count(string(raw), "cache_control") != 1 || body.Messages[0].Content[0].CacheControl == nil {
		t.Errorf("the marks of the shortest request are %s", raw)
	}
	long := hello()
	long.Cache, long.Tools, long.Messages = true, someTools(3), nil
	for range 10 {
		long.Messages = append(long.Messages, model.User("a"), model.Assistant("b"))
	}
	body, raw = encoded(t, long, concessions{})
	n := len(body.Messages)
	if strings.Count(string(raw), "cache_control") != 3 || body.Tools[2].CacheControl == nil ||
		body.Messages[n-2].Content[0].CacheControl == nil || body.Messages[n-4].Content[0].CacheControl == nil {
		t.Errorf("the marks of a long request are %s", raw)
	}
}

func TestFilesTheAPIDoesNotRead(t *testing.T) {
	req := hello()
	req.Messages[0].Parts = []model.Part{filePart(&model.Blob{MediaType: "audio/wav", Data: []byte{0xff, 0xfe, 0}})}
	e := offline(t, Config{}, nil)
	if _, failure := vendortest.Ask(t, e, req); failure == nil || failure.Class != model.InvalidRequest || !strings.Contains(failure.Message, "files of type") {
		t.Errorf("the error is %v", failure)
	}
}

// TestContentOfResults checks which content types a result carries, and that a note replaces all
// others.
func TestContentOfResults(t *testing.T) {
	binary := []byte{0xff, 0xfe, 0}
	for media, want := range map[string]string{
		"image/png": "image", "image/jpeg": "image", "image/gif": "image", "image/webp": "image",
		"application/pdf": "document", "text/csv": "note",
		"image/tiff": "note", "image/svg+xml": "note", "audio/wav": "note", "video/mp4": "note",
		"application/gzip": "note", "application/octet-stream": "note",
	} {
		part := filePart(&model.Blob{MediaType: media, Data: binary})
		block := resultAttachment(&part)
		if text, ok := block.(*textBlock); ok {
			if want != "note" || !strings.Contains(text.Text, media) {
				t.Errorf("%s becomes the text %q", media, text.Text)
			}
			continue
		}
		if got := block.(*attachment).Type; got != want {
			t.Errorf("%s becomes a %s, want a %s", media, got, want)
		}
	}
}

// TestAnImageSentAsAFileIsAnImage: the API has no other place for it.
func TestAnImageSentAsAFileIsAnImage(t *testing.T) {
	req := hello()
	req.Messages[0].Parts = []model.Part{filePart(&model.Blob{Data: png})}
	if body, _ := encoded(t, req, concessions{}); body.Messages[0].Content[0].Type != "image" {
		t.Errorf("the file is sent as %+v", body.Messages[0].Content[0])
	}
}

func TestReasoningIsForgottenWhereItCannotBeRead(t *testing.T) {
	req := conversation()
	_, raw := encoded(t, req, concessions{forgetReasoning: true})
	if strings.Contains(string(raw), "sig-1") || strings.Contains(string(raw), "blob-1") {
		t.Errorf("reasoning is sent: %s", raw)
	}
}

func TestObjectSchema(t *testing.T) {
	for schema, want := range map[string]string{
		``:                    `{"type":"object"}`,
		`null`:                `{"type":"object"}`,
		`{}`:                  `{"type":"object"}`,
		`{"properties":{}}`:   `{"properties":{},"type":"object"}`,
		`{"type":"object" }`:  `{"type":"object"}`,
		`{"$schema":"draft"}`: `{"type":"object"}`,
	} {
		if got, err := toolschema.Anthropic.Map(json.RawMessage(schema)); err != nil || string(got.Schema) != want {
			t.Errorf("the schema %s is sent as %s (%v), want %s", schema, got, err, want)
		}
	}
	for _, schema := range []string{`[]`, `{`, `true`} {
		req := hello()
		req.Tools = []model.Tool{{Name: "broken", Parameters: json.RawMessage(schema)}}
		_, err := offline(t, Config{}, nil).planRequest(req, concessions{})
		if failure := model.AsError(err); failure.Class != model.InvalidRequest || !strings.Contains(failure.Message, "broken") {
			t.Errorf("the schema %s gives %v", schema, err)
		}
	}
}
