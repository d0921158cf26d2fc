package openai

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/google/go-cmp/cmp"
)

const (
	paris = `{"city":"Paris"}`
	oslo  = `{"city":"Oslo","days":3}`
)

// responsesRecordings and chatRecordings are the expected results of the recorded streams.
var responsesRecordings = []vendortest.Recording{
	{Name: "text", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11},
		Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{Name: "two_messages", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11},
		Parts: []model.Part{model.Text("Let me look.\n\nIt is sunny.")}},
	{Name: "reasoning", Reason: model.FinishStop,
		Usage: &model.Usage{Input: 120, Output: 340, CacheRead: 64, CacheWrite: 32, Reasoning: 320},
		Parts: []model.Part{vendortest.Reasoning("**Plan**\nCompare\n\nDecide", "gAAAAABo-final==", "rs_1"), model.Text("Both.")}},
	{Name: "reasoning_text", Reason: model.FinishStop,
		Parts: []model.Part{vendortest.Reasoning("Hmm, yes.", "", ""), model.Text("Yes.")}},
	{Name: "calls", Reason: model.FinishToolCalls,
		Usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12},
		Parts: []model.Part{vendortest.Reasoning("", "gAAA-calls", "rs_1"), model.Text("Looking."),
			vendortest.ToolCall("call_paris", "weather", paris), vendortest.ToolCall("call_oslo", "weather", oslo), vendortest.ToolCall("call_now", "now", `{}`)}},
	{Name: "calls_done_only", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{vendortest.ToolCall("call_a", "weather", paris), vendortest.ToolCall("call_b", "weather", oslo), vendortest.ToolCall("call_c", "now", `{}`)}},
	{Name: "calls_initial", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{vendortest.ToolCall("call_a", "weather", paris), vendortest.ToolCall("call_b", "weather", oslo), vendortest.ToolCall("call_c", "weather", paris)}},
	{Name: "calls_uncounted", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{vendortest.ToolCall("call_a", "weather", paris), vendortest.ToolCall("call_b", "weather", oslo), vendortest.ToolCall("call_c", "now", `{}`)}},
	{Name: "calls_late_name", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{vendortest.ToolCall("call_a", "weather", paris), vendortest.ToolCall("call_?", "weather", oslo)}},
	{Name: "refusal", Reason: model.FinishStop, Usage: &model.Usage{Input: 20, Output: 9},
		Parts: []model.Part{model.Text("I can't help with that.")}},
	{Name: "max_tokens", Reason: model.FinishMaxTokens, Usage: &model.Usage{Input: 20, Output: 16},
		Parts: []model.Part{model.Text("Once upon"), vendortest.ToolCall("call_a", "weather", `{"ci`)}},
	{Name: "content_filter", Reason: model.FinishContentFilter, Usage: &model.Usage{Input: 20, Output: 16},
		Parts: []model.Part{model.Text("Well")}},
	{Name: "steered", Class: model.Provider, Message: "steered"},
	{Name: "failed_rate", Class: model.RateLimited, Message: "Rate limit reached"},
	{Name: "failed_server", Class: model.Provider, Message: "failed to generate", Parts: []model.Part{model.Text("Half")}},
	{Name: "error_flat", Class: model.ContextOverflow, Message: "exceeds the context window"},
	{Name: "error_nested", Class: model.RateLimited, Message: "Too Many Requests"},
	{Name: "error_unnamed", Class: model.ContentFiltered, Message: "flagged"},
	{Name: "completed_only", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 3, Output: 2},
		Parts: []model.Part{vendortest.Reasoning("Hm.", "gAAA", "rs_1"), model.Text("Looking."), vendortest.ToolCall("c1", "weather", paris)}},
	{Name: "completed_has_more", Reason: model.FinishToolCalls,
		Parts: []model.Part{model.Text("First."), vendortest.ToolCall("c1", "weather", paris), vendortest.ToolCall("c2", "weather", oslo), model.Text("\n\nSecond.")}},
	{Name: "completed_has_arguments", Reason: model.FinishToolCalls, Parts: []model.Part{vendortest.ToolCall("c1", "weather", paris)}},
	{Name: "text_done_only", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{model.Text("Hi")}},
	{Name: "text_completed_call_done", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{vendortest.ToolCall("c1", "now", `{}`), model.Text("Hi")}},
	{Name: "document", Reason: model.FinishStop, Parts: []model.Part{model.Text("No.")}},
}

// askWeather returns a request with the tool that the recordings call.
func askWeather() *model.Request {
	return &model.Request{
		Model: "gpt-6-astra", Messages: []model.Message{model.User("Hello")},
		Tools: []model.Tool{{Name: "weather", Description: "Current weather.", Parameters: json.RawMessage(`{"type":"object"}`)}},
	}
}

// repaired returns a call whose arguments were repaired.
func repaired(call model.Part, repair model.Repair) model.Part {
	call.ToolCall.Repair = repair
	return call
}

// withExtra returns a call with the vendor's opaque content.
func withExtra(call model.Part, extra string) model.Part {
	call.ToolCall.Extra = json.RawMessage(extra)
	return call
}

// thought returns reasoning that goes back in a given field.
func thought(text, field string) model.Part {
	part := vendortest.Reasoning(text, "", "")
	part.Reasoning.Field = field
	return part
}

var chatRecordings = []vendortest.Recording{
	{Name: "text", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11},
		Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{Name: "refusal", Reason: model.FinishStop, Usage: &model.Usage{Input: 20, Output: 9},
		Parts: []model.Part{model.Text("I can't help with that.")}},
	{Name: "reasoning", Reason: model.FinishStop,
		Usage: &model.Usage{Input: 120, Output: 340, CacheRead: 64, CacheWrite: 32, Reasoning: 320},
		Parts: []model.Part{thought("Hmm, yes. Sure.", reasoningContent), model.Text("Yes.")}},
	{Name: "calls", Reason: model.FinishToolCalls,
		Usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12},
		Parts: []model.Part{vendortest.ToolCall("call_paris", "weather", paris), vendortest.ToolCall("call_oslo", "weather", oslo), vendortest.ToolCall("call_now", "now", `{}`)}},
	{Name: "calls_late_id", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{vendortest.ToolCall("call_paris", "weather", paris), vendortest.ToolCall("call_?", "weather", oslo)}},
	{Name: "calls_no_index", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{vendortest.ToolCall("call_?", "weather", paris), vendortest.ToolCall("call_?", "weather", oslo), vendortest.ToolCall("call_?", "now", `{}`)}},
	{Name: "calls_same_index", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{vendortest.ToolCall("call_a", "weather", paris), vendortest.ToolCall("call_b", "weather", oslo), vendortest.ToolCall("call_b2", "now", `{}`)}},
	{Name: "calls_same_id", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{vendortest.ToolCall("weather", "weather", paris), vendortest.ToolCall("call_?", "weather", oslo)}},
	{Name: "length", Reason: model.FinishMaxTokens, Usage: &model.Usage{Input: 20, Output: 16},
		Parts: []model.Part{model.Text("Once upon"), vendortest.ToolCall("call_a", "weather", `{"ci`)}},
	{Name: "content_filter", Reason: model.FinishContentFilter, Usage: &model.Usage{Input: 20, Output: 16},
		Parts: []model.Part{model.Text("Well")}},
	{Name: "usage_everywhere", Reason: model.FinishStop, Usage: &model.Usage{Input: 5, Output: 2},
		Parts: []model.Part{model.Text("ab")}},
	{Name: "no_done", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1},
		Parts: []model.Part{model.Text("Hi")}},
	{Name: "no_usage", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "two_choices", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "vllm_calls", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{thought("Two cities, two calls.", reasoningContent), model.Text("\n\n"),
			vendortest.ToolCall("chatcmpl-tool-1a", "weather", paris), vendortest.ToolCall("chatcmpl-tool-2b", "weather", oslo)}},
	{Name: "vllm_error", Class: model.Provider, Message: "EngineCore", Parts: []model.Part{model.Text("Half")}},
	{Name: "ollama_calls", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{thought("Two cities.", reasoningField), vendortest.ToolCall("call_pz3", "weather", paris), vendortest.ToolCall("call_q7k", "weather", oslo)}},
	{Name: "llamacpp_calls", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{thought("Paris.", reasoningContent), vendortest.ToolCall("Zk1", "weather", paris)}},
	{Name: "llamacpp_error", Class: model.ContextOverflow, Message: "Context size", Parts: []model.Part{model.Text("Half")}},
	{Name: "litellm_calls", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8, CacheRead: 20},
		Parts: []model.Part{model.Text("Looking."), vendortest.ToolCall("toolu_1", "weather", paris)}},
	{Name: "litellm_error", Class: model.RateLimited, Message: "Overloaded", Parts: []model.Part{model.Text("Half")}},
	{Name: "calls_no_reason", Reason: model.FinishToolCalls,
		Parts: []model.Part{vendortest.ToolCall("call_a", "weather", paris)}},
	{Name: "tight", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "content_parts", Reason: model.FinishStop, Usage: &model.Usage{Input: 30, Output: 8, CacheRead: 16},
		Parts: []model.Part{vendortest.Reasoning("Hm", "", ""), model.Text("Yes.")}},
	{Name: "error", Class: model.Provider, Message: "had an error", Parts: []model.Part{model.Text("Half")}},
	{Name: "error_status", Class: model.Provider, Message: "Upstream error"},
	{Name: "error_object", Class: model.ContextOverflow, Message: "4096 tokens"},
	{Name: "error_finish", Class: model.Provider, Message: "aborted", Parts: []model.Part{model.Text("x")}},
	{Name: "error_event", Class: model.Overloaded, Message: "Overloaded"},
	{Name: "unfinished", Reason: model.FinishStop, Parts: []model.Part{model.Text("Half")}},
	{Name: "empty_data", Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}},
	{Name: "byte_order_mark", Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}},
	{Name: "usage_loose", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 2}, Parts: []model.Part{model.Text("hi")}},
	{Name: "usage_text", Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}},
	{Name: "odd_types", Reason: model.FinishToolCalls, Parts: []model.Part{model.Text("hi"), vendortest.ToolCall("12", "weather", `{"city": "Paris"}`)}},
	{Name: "split_character", Reason: model.FinishStop, Parts: []model.Part{model.Text("a😀b")}},
	{Name: "message_calls_after_deltas", Reason: model.FinishToolCalls, Parts: []model.Part{model.Text("let me"), vendortest.ToolCall("a1", "weather", paris)}},
	{Name: "message_deltas", Reason: model.FinishStop, Parts: []model.Part{model.Text("hi you")}},
	{Name: "message_repeats", Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}},
	{Name: "function_call", Reason: model.FinishToolCalls, Parts: []model.Part{vendortest.ToolCall("call_?", "weather", paris)}},
	{Name: "calls_name_pieces", Request: askWeather, Reason: model.FinishToolCalls, Parts: []model.Part{vendortest.ToolCall("a1", "weather", paris)}},
	{Name: "calls_tail", Reason: model.FinishToolCalls, Parts: []model.Part{vendortest.ToolCall("a1", "weather", paris)}},
	{Name: "calls_encoded_twice", Reason: model.FinishToolCalls, Parts: []model.Part{repaired(vendortest.ToolCall("a1", "weather", paris), model.RepairDecoded)}},
	{Name: "calls_repeated", Reason: model.FinishToolCalls, Parts: []model.Part{repaired(vendortest.ToolCall("a1", "weather", paris), model.RepairRepeated)}},
	{Name: "calls_cumulative", Reason: model.FinishToolCalls, Parts: []model.Part{repaired(vendortest.ToolCall("a1", "weather", paris), model.RepairCumulative)}},
	{Name: "calls_extra", Reason: model.FinishToolCalls, Parts: []model.Part{withExtra(vendortest.ToolCall("a1", "weather", paris), `{"provider":"vendor","extra_content":{"google":{"thought_signature":"U0lH"}}}`)}},
	{Name: "document_no_reason", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "document", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{model.Text("hi"), vendortest.ToolCall("a1", "weather", paris)}},
	{Name: "document_error", Class: model.Unauthorized, Message: "bad key"},
	{Name: "document_detail", Class: model.Provider, Message: "body.messages: field required"},
	{Name: "nameless", Class: model.Provider, Message: "no name"},
	{Name: "malformed", Class: model.Provider, Message: "malformed", Parts: []model.Part{model.Text("Half")}},
}

// TestCallEvents looks at the events of interleaved calls one by one.
func TestCallEvents(t *testing.T) {
	start := func(index int, id, name string) model.Event {
		return model.Event{Type: model.EventToolCallStart, Index: index, ID: id, Name: name}
	}
	delta := func(index int, piece string) model.Event {
		return model.Event{Type: model.EventToolCallDelta, Index: index, Delta: piece}
	}
	end := func(index int) model.Event { return model.Event{Type: model.EventToolCallEnd, Index: index} }
	finish := model.Event{Type: model.EventFinish, Reason: model.FinishToolCalls,
		Usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12}}
	for api, want := range map[API][]model.Event{
		Responses: {
			{Type: model.EventReasoningEncrypted, ID: "rs_1", Delta: "gAAA-calls"},
			{Type: model.EventText, Delta: "Looking."},
			start(0, "call_paris", "weather"), start(1, "call_oslo", "weather"), start(2, "call_now", "now"),
			delta(0, `{"ci`), delta(1, `{"city":"O`), delta(0, `ty":"Paris"}`), delta(1, `slo","days"`), end(0),
			delta(1, `:3}`), end(1), delta(2, `{}`), end(2), finish,
		},
		ChatCompletions: {
			start(0, "call_paris", "weather"), delta(0, `{"ci`),
			start(1, "call_oslo", "weather"), delta(1, `{"city":"O`), delta(0, `ty":"Paris"}`), delta(1, `slo","days"`),
			delta(1, `:3}`), start(2, "call_now", "now"), delta(2, `{}`), end(0), end(1), end(2), finish,
		},
	} {
		t.Run(string(api), func(t *testing.T) {
			e := vendors[api].Replay(t, bytes.NewReader(vendors[api].Recorded(t, "calls")))
			events, failure := vendortest.Ask(t, e, hello())
			if failure != nil {
				t.Fatal(failure)
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMadeUpIDs checks that a generated call id is the same for the same answer and different in
// the next step of the conversation.
func TestMadeUpIDs(t *testing.T) {
	id := func(req *model.Request) string {
		e := vendors[ChatCompletions].Replay(t, bytes.NewReader(vendors[ChatCompletions].Recorded(t, "calls_no_index")))
		events, failure := vendortest.Ask(t, e, req)
		if failure != nil {
			t.Fatal(failure)
		}
		id, _ := vendortest.Assemble(t, events).Call(0)
		return id
	}
	first, later := hello(), hello()
	later.Messages = append(later.Messages, model.Assistant("x"), model.User("y"))
	if a, b := id(first), id(first); a != b {
		t.Errorf("the same answer has the ids %s and %s", a, b)
	}
	if a, b := id(first), id(later); a == b {
		t.Errorf("two answers have the id %s", a)
	}
}
