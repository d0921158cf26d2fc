package model_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// whole has every kind of part.
func whole(args string) model.Message {
	return model.Message{ID: "m", Role: model.RoleAssistant, Parts: []model.Part{
		model.Text("hi"),
		{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: []byte{0, 255}, Name: "a.png"}},
		{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/pdf", URI: "https://example.com/a.pdf"}},
		{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "hm", Encrypted: "x", ID: "r"}},
		{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c", Name: "x", Arguments: json.RawMessage(args)}},
		{Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: "c", Name: "x", Content: []model.Part{model.Text("ok")}, IsError: true}},
	}}
}

// roundTrip encodes a message as JSON and decodes it.
func roundTrip(t testing.TB, m model.Message) model.Message {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back model.Message
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return back
}

func TestAMessageIsTheSameAfterJSON(t *testing.T) {
	for _, args := range []string{
		`{}`, `{"a":1}`, `{"a":`, `{"a":"ü\u0000"}`, "not JSON", `{"a":1}}`, `[1]`, `7`, `null`, "\n{", `{"a":"\ud800"}`, ``,
	} {
		want := whole(args)
		if diff := cmp.Diff(want, roundTrip(t, want), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
	// Valid JSON may lose only the blanks between its tokens.
	spaced := roundTrip(t, whole(`{ "a" : 1 }`))
	if got := spaced.ToolCalls()[0].Arguments; string(got) != `{"a":1}` {
		t.Errorf("the arguments became %s", got)
	}
}

func TestTheJSONOfAMessage(t *testing.T) {
	got, err := json.Marshal(whole(`{"a":`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"m","role":"assistant","parts":[` +
		`{"type":"text","text":"hi"},` +
		`{"type":"image","blob":{"media_type":"image/png","data":"AP8=","name":"a.png"}},` +
		`{"type":"file","blob":{"media_type":"application/pdf","uri":"https://example.com/a.pdf"}},` +
		`{"type":"reasoning","reasoning":{"text":"hm","encrypted":"x","id":"r"}},` +
		`{"type":"tool_call","tool_call":{"id":"c","name":"x","arguments":"{\"a\":"}},` +
		`{"type":"tool_result","tool_result":{"call_id":"c","name":"x","content":[{"type":"text","text":"ok"}],"is_error":true}}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestTheTextOfAMessage(t *testing.T) {
	image := model.Part{Type: model.PartImage, Text: "not a text"}
	for want, parts := range map[string][]model.Part{
		"":    nil,
		"a":   {model.Text("a")},
		"b":   {image, model.Text(""), model.Text("b"), image},
		"abc": {model.Text("a"), image, model.Text("b"), model.Text(""), model.Text("c")},
	} {
		m := model.Message{Parts: parts}
		if got := m.Text(); got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
	}
}

// FuzzToolCallJSON encodes and decodes calls with any arguments.
func FuzzToolCallJSON(f *testing.F) {
	for _, args := range []string{`{}`, `{"a":1}`, `{"a":`, `null`, `"text"`, " ", `{"a":"\ud800"}`, "\x00", "\xff"} {
		f.Add("c", args)
	}
	f.Fuzz(func(t *testing.T, id, args string) {
		if !utf8.ValidString(id) || !utf8.ValidString(args) {
			t.Skip("JSON is UTF-8")
		}
		call := model.ToolCall{ID: id, Name: "x", Arguments: json.RawMessage(args)}
		m := roundTrip(t, model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Type: model.PartToolCall, ToolCall: &call}}})
		got := m.ToolCalls()[0]
		if got.ID != id {
			t.Errorf("the id became %q", got.ID)
		}
		want := []byte(args)
		if json.Valid(want) {
			want, got.Arguments = compacted(t, want), compacted(t, got.Arguments)
		}
		if !bytes.Equal(want, got.Arguments) {
			t.Errorf("the arguments %q became %q", want, got.Arguments)
		}
	})
}

// FuzzMessageJSON decodes any JSON as a message; the message must survive encoding and decoding.
func FuzzMessageJSON(f *testing.F) {
	for _, args := range []string{`{"a":1}`, `{"a":`} {
		data, err := json.Marshal(whole(args))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"parts":[{"type":"tool_call","tool_call":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m model.Message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		// The first trip replaces invalid UTF-8 in arguments, and the second escapes "<", ">" and
		// "&".
		settled := roundTrip(t, roundTrip(t, m))
		if diff := cmp.Diff(settled, roundTrip(t, settled), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		_, _ = m.Text(), m.ToolCalls()
	})
}

// compacted returns JSON without blanks and with the encoder's escapes.
func compacted(t *testing.T, raw []byte) []byte {
	t.Helper()
	out, err := json.Marshal(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
