package scripted_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := scripted.Parse("replies.yaml", []byte(`
replies:
  - match: weather
    tool_calls: [{id: call_1, name: weather, arguments: {city: "Paris <3", n: 0x1F, big: 12345678901234567890123, day: 2024-10-10, no: null, list: [true, 1.5]}}]
    usage: {input_tokens: 20, output_tokens: 6, cached_tokens: 1, cache_write_tokens: 2, reasoning_tokens: 3}
  - text: It is sunny in Paris.
    reasoning: hm
    chunks: 4
    delay: 20ms
    chunk_delay: 1s
    finish_reason: stop
  - text: 42
    error: {class: rate_limited, message: slow down, status: 429, retry_after: 1s, times: 2, after_chunks: 1}
  - tool_calls: [{name: wc, arguments: '{"text'}]
  - text: ab
    error: {stall: true, after_chunks: 2}
fallback: {text: "I have no reply for that."}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := scripted.Script{
		Replies: []scripted.Reply{
			{
				Match: "weather",
				ToolCalls: []model.ToolCall{{ID: "call_1", Name: "weather", Arguments: json.RawMessage(
					`{"city":"Paris <3","n":31,"big":12345678901234567890123,"day":"2024-10-10","no":null,"list":[true,1.5]}`)}},
				Usage: &model.Usage{Input: 20, Output: 6, CacheRead: 1, CacheWrite: 2, Reasoning: 3},
			},
			{Text: "It is sunny in Paris.", Reasoning: "hm", Chunks: 4, Delay: 20 * time.Millisecond, ChunkDelay: time.Second, FinishReason: model.FinishStop},
			{Text: "42", Error: &scripted.Failure{Class: model.RateLimited, Message: "slow down", Status: 429, RetryAfter: time.Second, Times: 2, AfterChunks: 1}},
			{ToolCalls: []model.ToolCall{{Name: "wc", Arguments: json.RawMessage(`{"text`)}}},
			{Text: "ab", Error: &scripted.Failure{Stall: true, AfterChunks: 2}},
		},
		Fallback: &scripted.Reply{Text: "I have no reply for that."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the script differs (-want +got):\n%s", diff)
	}
}

func TestParseNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n", "null", "replies: []", "---\n"} {
		if got, err := scripted.Parse("f.yaml", []byte(text)); err != nil || len(got.Replies) > 0 {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"a: [", "f.yaml:2:1: did not find expected node content while parsing a flow node"},
		{"\tx: 1", "f.yaml:1:1: found character that cannot start any token while scanning for the next token"},
		{"a\n---\nb", "f.yaml:2:1: the file contains a second document; a script is one"},
		{"- a", "f.yaml:1:1: a script must be a mapping, not a list"},
		{"replies: {}", "f.yaml:1:10: replies must be a list, not a mapping"},
		{"replies:", "f.yaml:1:1: replies has no value; leave the key out"},
		{"reply: []", `f.yaml:1:1: a script has no key "reply" (it may have replies, fallback)`},
		{
			"replies: [{txt: a, chunks: many, delay: 5}]\nfallback: 7",
			`f.yaml:1:12: a reply has no key "txt" (did you mean "text"?)
f.yaml:1:28: chunks must be a whole number, not "many"
f.yaml:1:41: delay must be a duration such as 20ms or 1s, not "5"
f.yaml:2:11: a reply must be a mapping, not "7"`,
		},
		{"replies: [{text: a, text: b}]", `f.yaml:1:21: a reply has the key "text" twice`},
		{"replies: [{text: [a]}]", "f.yaml:1:18: text must be a text, not a list"},
		{"replies: [{chunks: '3'}]", `f.yaml:1:20: chunks must be a whole number, not "3"`},
		{"replies: [{error: }]", "f.yaml:1:12: error has no value; leave the key out"},
		{"replies:\n- &a {text: x}\n- *a", "f.yaml:3:3: a reply must be a mapping, not an alias"},
		{"replies: [{tool_calls: [{name: a, arguments: [1]}]}]", "f.yaml:1:46: arguments must be a mapping, or a text that is sent as it is; not a list"},
		{"replies: [{tool_calls: [{name: a, arguments: {x: .inf}}]}]", `f.yaml:1:50: ".inf" is not a JSON number`},
		{"replies: [{tool_calls: [{name: a, arguments: {x: 1, x: 2}}]}]", `f.yaml:1:53: the key "x" is not a text, or it is there twice`},
		{"replies: [{tool_calls: [{name: a, arguments: &a {x: *a}}]}]", "f.yaml:1:53: a script may not contain an alias"},
		{"replies:\n- match: /(/", "f.yaml:2:10: match is not a valid regular expression: error parsing regexp: missing closing ): `(`"},
		{"replies:\n- text: a\n  finish_reason: done", `f.yaml:3:18: finish_reason is "done"; allowed are stop, tool_calls, max_tokens and content_filter`},
		{"replies:\n- tool_calls: [{id: x}]", "f.yaml:2:16: a tool call needs the name of a tool"},
		{"replies: [{chunks: -1, delay: -1s, usage: {input_tokens: -1}}]", `f.yaml:1:20: chunks must be 0 or more
f.yaml:1:31: delay must be 0 or more
f.yaml:1:58: input_tokens must be 0 or more`},
		{"replies: [{error: {clas: timeout}}, {match: '/[/'}]\nreply: {}", `f.yaml:1:20: an error has no key "clas" (did you mean "class"?)
f.yaml:1:45: match is not a valid regular expression: error parsing regexp: missing closing ]: ` + "`[`" + `
f.yaml:2:1: a script has no key "reply" (it may have replies, fallback)`},
		{"replies: [{error: {}}]", "f.yaml:1:19: an error needs a class, such as rate_limited, or stall: true"},
		{"replies: [{error: {stall: 1}}]", `f.yaml:1:27: stall must be true or false, not "1"`},
		{"replies: [{error: {stall: true, class: timeout}}]", "f.yaml:1:27: a stall says nothing: it has no class, message, status and retry_after"},
		{"replies: [{error: {class: rate, status: 200}}]", `f.yaml:1:27: class is "rate"; allowed are provider, rate_limited, overloaded, timeout, stream_interrupted, empty_answer, context_overflow, invalid_request, unauthorized, model_not_found, content_filtered, all_models_unavailable, cancelled
f.yaml:1:41: status is 200; an error has one from 400 to 599`},
		{"replies: [{text: ab, error: {class: timeout, after_chunks: 3}}]", "f.yaml:1:60: after_chunks is 3, but the reply is streamed in 2 deltas"},
		{"fallback: {match: x, error: {class: provider, times: 2}}", `f.yaml:1:19: the fallback must not have a match
f.yaml:1:54: a fallback fails always; times is for replies`},
		{"replies: " + strings.Repeat("[", 100), "f.yaml:1:74: exceeded max depth of 64 while increasing flow level"},
	} {
		_, err := scripted.Parse("f.yaml", []byte(tt.text))
		if err == nil {
			t.Errorf("%q: no error", tt.text)
			continue
		}
		if err.Error() != tt.want {
			t.Errorf("%q: got\n%v\nwant\n%s", tt.text, err, tt.want)
		}
	}
}

func TestParseErrorsAreDiagnostics(t *testing.T) {
	t.Parallel()
	_, err := scripted.Parse("f.yaml", []byte("replies: [{txt: a}, {chunks: x}]"))
	got := diag.FromError(err)
	if len(got) != 2 || got[0].Code != diag.UnknownField || got[1].Path != "replies[1].chunks" || got[1].Column != 30 {
		t.Errorf("got %+v", got)
	}
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	_, err := scripted.New(scripted.Script{Replies: []scripted.Reply{{Text: "a"}, {Match: "/[/"}}})
	var se *scripted.ScriptError
	if !errors.As(err, &se) || !strings.HasPrefix(err.Error(), "replies[1].match: match is not a valid regular expression") {
		t.Errorf("got %v", err)
	}
}

// FuzzParse proves that no script makes the decoder panic, that its errors
// have a place, and that what it accepts answers.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"replies: [{text: a, chunks: 3}]", "replies: [{error: {class: timeout, times: 2}}]\nfallback: {text: b}",
		"replies: [{match: /a+/, tool_calls: [{name: x, arguments: {a: [1, {b: c}]}}]}]", "a: &a [*a]", "? [a]\n: b", "{<<: {a: b}}",
		"replies: [{text: ab, error: {class: timeout, after_chunks: 2}}]",
	} {
		f.Add(seed, "hello")
	}
	f.Fuzz(func(t *testing.T, text, said string) {
		script, err := scripted.Parse("f.yaml", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Errorf("the error has no place: %v", err)
			}
			return
		}
		e, err := scripted.New(script)
		if err != nil {
			t.Fatalf("accepted, then refused: %v", err)
		}
		messages := []model.Message{model.User(said)}
		for i := range script.Replies {
			if r := &script.Replies[i]; r.Delay > 0 || r.ChunkDelay > 0 || i > 10 {
				return
			}
			a := &model.Answer{}
			for ev, err := range e.Stream(t.Context(), &model.Request{Messages: messages}) {
				if err != nil {
					break
				}
				if err := a.Add(&ev); err != nil {
					t.Fatal(err)
				}
			}
			messages = append(messages, a.Message())
		}
	})
}
