package telemetry

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"pgregory.net/rapid"
)

// talk tells of a turn in which everything was said that a span could repeat.
func talk(t *testing.T, w *watch) {
	t.Helper()
	ctx, turn := w.StartTurn(t.Context(), aTurn)
	ctx, step := turn.StartStep(ctx, 1, "helper")
	_, call := turn.StartModel(ctx, anInference)
	call.Observe(&model.Event{Type: model.EventText, Delta: answerText})
	call.Observe(&model.Event{Type: model.EventReset, Delta: answerText})
	answer := model.Assistant(answerText)
	call.End(ModelOutcome{Reason: model.FinishStop, Answer: &answer, Err: &model.Error{Class: model.Provider, Message: errorText}})
	_, used := turn.StartTool(ctx, aToolCall)
	used.End(ToolOutcome{Outcome: event.CallFailed, Result: []model.Part{model.Text(resultText)}})
	step.End(errors.New(errorText))
	turn.End(TurnOutcome{
		Outcome: event.Outcome{Termination: event.Termination{Type: event.Failed, Code: "provider", Detail: errorText}}, Status: event.StatusFailed, Err: errors.New(errorText),
	})
}

var allTexts = []string{instructionsText, promptText, answerText, argumentText, resultText, errorText}

func TestSpansHoldNoContentUnlessAskedTo(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{Redact: func(string) string { t.Error("there is nothing to redact"); return "" }})
	talk(t, w)
	told := w.everything()
	for _, text := range allTexts {
		if strings.Contains(told, text) {
			t.Errorf("the spans tell %s:\n%s", text, told)
		}
	}
}

func TestATurnSaysWhetherContentIsCaptured(t *testing.T) {
	t.Parallel()
	for _, capture := range []bool{true, false} {
		_, turn := newWatch(t, Settings{CaptureContent: capture}).StartTurn(t.Context(), aTurn)
		if got := turn.CapturesContent(); got != capture {
			t.Errorf("capture %v: %v", capture, got)
		}
		turn.End(TurnOutcome{})
	}
	var none *TurnSpan
	if none.CapturesContent() {
		t.Error("a turn that is not observed captures content")
	}
}

func TestCapturedContentHasTheConventionsForm(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{CaptureContent: true})
	talk(t, w)
	chat := w.span("chat gpt-5")
	for key, want := range map[string]string{
		"gen_ai.system_instructions": `[{"type":"text","content":"INSTRUCTIONS-7f3"}]`,
		"gen_ai.input.messages":      `[{"role":"user","parts":[{"type":"text","content":"PROMPT-7f3"}]}]`,
		"gen_ai.output.messages":     `[{"role":"assistant","parts":[{"type":"text","content":"ANSWER-7f3"}],"finish_reason":"stop"}]`,
	} {
		if got := attributesOf(chat)[key]; got != want {
			t.Errorf("%s is %s\nwant %s", key, got, want)
		}
	}
	if !strings.Contains(chat.Status.Description, errorText) {
		t.Errorf("the status says %q", chat.Status.Description)
	}
	tool := attributesOf(w.span("execute_tool look_up"))
	if got := tool["gen_ai.tool.call.arguments"]; got != `{"q":"ARGUMENT-7f3"}` {
		t.Errorf("the arguments are %s", got)
	}
	if got := tool["gen_ai.tool.call.result"]; got != resultText {
		t.Errorf("the result is %s", got)
	}
}

func TestEveryPartOfAMessageHasItsForm(t *testing.T) {
	t.Parallel()
	messages := []model.Message{
		{Role: model.RoleUser, Parts: []model.Part{
			{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: []byte("bytes of a picture")}},
			{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/pdf", URI: "https://example.com/a.pdf"}},
		}},
		{Role: model.RoleAssistant, Parts: []model.Part{
			{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "hm", Encrypted: "opaque"}},
			{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c", Name: "n", Arguments: []byte(`{"b":[1.50,null,true],"a":"<x>"}`)}},
			{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "d", Name: "n", Arguments: []byte(`{"broken`)}},
		}},
		{Role: model.RoleTool, Parts: []model.Part{
			{Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: "c", Content: []model.Part{model.Text("found")}}},
		}},
		{Role: model.RoleUser, Parts: []model.Part{{Type: model.PartToolCall}, {Type: "novel"}}}, // malformed
	}
	want := `[` +
		`{"role":"user","parts":[` +
		`{"type":"blob","content":"","modality":"image","mime_type":"image/png"},` +
		`{"type":"uri","modality":"document","mime_type":"application/pdf","uri":"https://example.com/a.pdf"}]},` +
		`{"role":"assistant","parts":[` +
		`{"type":"reasoning","content":"hm"},` +
		`{"type":"tool_call","id":"c","name":"n","arguments":{"a":"<x>","b":[1.50,null,true]}},` +
		`{"type":"tool_call","id":"d","name":"n","arguments":"{\"broken"}]},` +
		`{"role":"tool","parts":[{"type":"tool_call_response","id":"c","response":"found"}]},` +
		`{"role":"user","parts":[{"type":"tool_call"},{"type":"novel"}]}]`
	got := texts(newContent(nil, 0).appendRequest(nil, messages))
	if diff := cmp.Diff(map[string]string{"gen_ai.input.messages": want}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAreTakenOutOfAllThatIsCaptured(t *testing.T) {
	t.Parallel()
	redact := func(text string) string {
		for _, secret := range allTexts {
			text = strings.ReplaceAll(text, secret, "***")
		}
		return text
	}
	w := newWatch(t, Settings{CaptureContent: true, Redact: redact})
	talk(t, w)
	told := w.everything()
	for _, secret := range allTexts {
		if strings.Contains(told, secret) {
			t.Errorf("the spans tell %s:\n%s", secret, told)
		}
	}
	if n := strings.Count(told, "***"); n < len(allTexts) {
		t.Errorf("only %d texts are left:\n%s", n, told)
	}
}

func TestASecretIsTakenOutOfJSONHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	redact := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, `a"b`, "***"), "12345", "***")
	}
	for arguments, want := range map[string]string{
		`{"k":"a\"b"}`:              `{"k":"***"}`,
		`{"k":"\u0061\u0022b"}`:     `{"k":"***"}`,
		`{"a\"b":{"x":["a\"b c"]}}`: `{"***":{"x":["*** c"]}}`,
		`{"pin":12345}`:             `{"pin":"***"}`,
	} {
		got := texts(newContent(redact, 0).appendArguments(nil, []byte(arguments)))["gen_ai.tool.call.arguments"]
		if got != want {
			t.Errorf("%s becomes %s, want %s", arguments, got, want)
		}
	}
}

func TestOfALongConversationTheLatestIsKept(t *testing.T) {
	t.Parallel()
	messages := []model.Message{
		model.System("0123456789 be brief"), model.User("the first"), model.Assistant("the second"), model.User("the third"),
	}
	got := texts(newContent(nil, 14).appendRequest(nil, messages))
	want := map[string]string{
		"gen_ai.system_instructions": `[{"type":"text","content":"0123456789 be "}]`,
		"gen_ai.input.messages": `[{"role":"assistant","parts":[{"type":"text","content":"the s"}]},` +
			`{"role":"user","parts":[{"type":"text","content":"the third"}]}]`,
		"agentruntime.content.truncated": "true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASecretIsTakenOutBeforeATextIsCut(t *testing.T) {
	t.Parallel()
	redact := func(text string) string { return strings.ReplaceAll(text, "secret", "*") }
	got := texts(newContent(redact, 6).appendResult(nil, []model.Part{model.Text("abcdsecret")}))
	if want := "abcd*"; got["gen_ai.tool.call.result"] != want || got["agentruntime.content.truncated"] != "" {
		t.Errorf("the result is %v", got)
	}
}

func TestWhateverIsCapturedIsJSONWithinItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 64).Draw(t, "limit")
		c := newContent(nil, limit)
		parts := []model.Part{
			model.Text(rapid.String().Draw(t, "text")),
			{Type: model.PartToolCall, ToolCall: &model.ToolCall{Arguments: drawJSON(t)}},
		}
		answer := model.Message{Role: model.RoleAssistant, Parts: parts}
		attributes := c.appendRequest(nil, []model.Message{model.System(rapid.String().Draw(t, "system")), answer, answer})
		attributes = c.appendAnswer(attributes, &answer, model.FinishStop)
		attributes = c.appendArguments(attributes, drawJSON(t))
		for _, a := range attributes {
			if a.Value.Type() == attribute.STRING && !json.Valid([]byte(a.Value.AsString())) {
				t.Fatalf("%s is no JSON: %s", a.Key, a.Value.AsString())
			}
		}
		result := c.redactText(string(rapid.SliceOf(rapid.Byte()).Draw(t, "result")))
		if len(result) > limit {
			t.Fatalf("the result has %d bytes", len(result))
		}
		var total int
		for _, text := range textsIn(t, texts(attributes)["gen_ai.tool.call.arguments"]) {
			total += len(text)
			if !utf8.ValidString(text) {
				t.Fatalf("%q is cut within a character", text)
			}
		}
		if total > limit {
			t.Fatalf("the arguments have %d bytes of text, the limit is %d", total, limit)
		}
	})
}

// drawJSON draws what a model may give for arguments: JSON, or something else.
func drawJSON(t *rapid.T) []byte {
	value := rapid.MapOf(rapid.String(), rapid.OneOf(
		rapid.String().AsAny(), rapid.Int().AsAny(), rapid.SliceOf(rapid.String()).AsAny(),
	)).Draw(t, "arguments")
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data[:len(data)-rapid.IntRange(0, 1).Draw(t, "missing")]
}

// textsIn returns the texts and names in a JSON document.
func textsIn(t *rapid.T, document string) (all []string) {
	var v any
	if err := json.Unmarshal([]byte(document), &v); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for name, item := range v {
				all = append(all, name)
				walk(item)
			}
		}
	}
	walk(v)
	return all
}
