package google

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/google/go-cmp/cmp"
)

func reasoning(text, encrypted string) model.Part {
	return vendortest.Reasoning(text, encrypted, "")
}

const paris = `{"city": "Paris", "station": 9007199254740993}`

var recordings = []vendortest.Recording{
	{Name: "text", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11},
		Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{Name: "thoughts", Reason: model.FinishStop,
		Usage: &model.Usage{Input: 127, Output: 340, CacheRead: 64, Reasoning: 320},
		Parts: []model.Part{reasoning("**Plan**\nCompare both.", ""), model.Text("Both fit."), reasoning("", "gemini:text:c2lnLXRleHQ=")}},
	{Name: "calls", Reason: model.FinishToolCalls,
		Usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12},
		Parts: []model.Part{reasoning("Look it up.", ""), model.Text("Looking."), reasoning("", "gemini:call:c2lnLWNhbGw="),
			vendortest.ToolCall("call_0_0", "weather", paris), vendortest.ToolCall("call_0_1", "weather", `{"city": "Oslo", "days": 3}`), vendortest.ToolCall("call_0_2", "now", `{}`)}},
	{Name: "calls_ids", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 30, Output: 8},
		Parts: []model.Part{reasoning("", "gemini:call:c2lnLTE="), vendortest.ToolCall("vn3kx1", "weather", `{"city": "Paris"}`), vendortest.ToolCall("vn3kx2", "now", `{}`)}},
	{Name: "max_tokens", Reason: model.FinishMaxTokens, Usage: &model.Usage{Input: 20, Output: 16},
		Parts: []model.Part{model.Text("Once upon a")}},
	{Name: "max_thoughts", Reason: model.FinishMaxTokens, Usage: &model.Usage{Input: 20, Output: 16, Reasoning: 16}},
	{Name: "safety", Reason: model.FinishContentFilter, Usage: &model.Usage{Input: 20, Output: 1}, Parts: []model.Part{model.Text("Well")}},
	{Name: "blocked", Reason: model.FinishContentFilter, Usage: &model.Usage{Input: 20}},
	{Name: "malformed_call", Class: model.Provider, Message: "malformed function call", Parts: []model.Part{model.Text("I'll")}},
	{Name: "other", Class: model.Provider, Message: "OTHER"},
	{Name: "missing_signature", Class: model.InvalidRequest, Message: "MISSING_THOUGHT_SIGNATURE"},
	{Name: "unfinished", Class: model.StreamInterrupted, Message: "ended before", Parts: []model.Part{model.Text("Half")}},
	{Name: "stop_everywhere", EndsAnywhere: true, Reason: model.FinishStop, Usage: &model.Usage{Input: 5, Output: 2}, Parts: []model.Part{model.Text("ab")}},
	{Name: "late_usage", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{model.Text("Hi")}},
	{Name: "no_usage", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "done", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{model.Text("Hi")}},
	{Name: "document", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{model.Text("Hi")}},
	{Name: "array", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{model.Text("Hi")}},
	{Name: "odd_types", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{model.Text("Hi")}},
	{Name: "two_candidates", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "unknown_parts", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "crlf", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 2}, Parts: []model.Part{model.Text("Hi there")}},
	{Name: "nameless", Class: model.Provider, Message: "no name"},
	{Name: "broken_chunk", Class: model.Provider, Message: "malformed", Parts: []model.Part{model.Text("Half")}},
	{Name: "error", Class: model.Overloaded, Message: "overloaded", Parts: []model.Part{model.Text("Half")}},
	{Name: "error_rate", Class: model.RateLimited, Message: "quota"},
	{Name: "error_plain", Class: model.Provider, Message: "internal error", Parts: []model.Part{model.Text("Half")}},

	{Name: "output", Hidden: outputFunction, Request: formed, Reason: model.FinishStop, Usage: &model.Usage{Input: 40, Output: 13, Reasoning: 4},
		Parts: []model.Part{reasoning("Weigh it.", ""), model.Text(paris)}},
	{Name: "output_text", Hidden: outputFunction, Request: formed, Reason: model.FinishStop, Usage: &model.Usage{Input: 40, Output: 9},
		Parts: []model.Part{model.Text(`{"city":"Paris"}`)}},
	{Name: "output_and_call", Hidden: outputFunction, Request: formed, Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 40, Output: 9},
		Parts: []model.Part{model.Text("First"), reasoning("", "gemini:call:c2lnLTE="), vendortest.ToolCall("call_0_0", "weather", `{"city": "Oslo"}`), model.Text(`{"city": "Oslo"}`)}},
}

// TestCallEvents looks at the events of calls one by one.
func TestCallEvents(t *testing.T) {
	want := []model.Event{
		{Type: model.EventReasoning, Delta: "Look it up."},
		{Type: model.EventText, Delta: "Looking."},
		{Type: model.EventReasoningEncrypted, Delta: "gemini:call:c2lnLWNhbGw="},
		{Type: model.EventToolCallStart, Name: "weather"},
		{Type: model.EventToolCallDelta, Delta: paris},
		{Type: model.EventToolCallEnd},
		{Type: model.EventToolCallStart, Index: 1, Name: "weather"},
		{Type: model.EventToolCallDelta, Index: 1, Delta: `{"city": "Oslo", "days": 3}`},
		{Type: model.EventToolCallEnd, Index: 1},
		{Type: model.EventToolCallStart, Index: 2, Name: "now"},
		{Type: model.EventToolCallEnd, Index: 2},
		{Type: model.EventFinish, Reason: model.FinishToolCalls,
			Usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12}},
	}
	events, failure := vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(vendor.Recorded(t, "calls"))), hello())
	if failure != nil {
		t.Fatal(failure)
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestFinishReasons checks each of the vendor's finish reasons.
func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]model.FinishReason{
		"STOP": model.FinishStop, "MAX_TOKENS": model.FinishMaxTokens,
		"SAFETY": model.FinishContentFilter, "RECITATION": model.FinishContentFilter, "LANGUAGE": model.FinishContentFilter,
		"BLOCKLIST": model.FinishContentFilter, "PROHIBITED_CONTENT": model.FinishContentFilter, "SPII": model.FinishContentFilter,
		"IMAGE_SAFETY": model.FinishContentFilter, "IMAGE_PROHIBITED_CONTENT": model.FinishContentFilter,
		"IMAGE_RECITATION": model.FinishContentFilter,
	} {
		events, failure := vendortest.Ask(t, ending(t, reason), hello())
		if failure != nil || len(events) != 1 || events[0].Reason != want {
			t.Errorf("%s ends with %v, %v", reason, events, failure)
		}
	}
	for reason, want := range map[string]model.ErrorClass{
		"OTHER": model.Provider, "MALFORMED_FUNCTION_CALL": model.Provider, "UNEXPECTED_TOOL_CALL": model.Provider,
		"TOO_MANY_TOOL_CALLS": model.Provider, "CONTINUATION": model.Provider, "NEW_REASON": model.Provider,
		"MISSING_THOUGHT_SIGNATURE": model.InvalidRequest, "FINISH_REASON_UNSPECIFIED": model.StreamInterrupted,
	} {
		events, failure := vendortest.Ask(t, ending(t, reason), hello())
		if failure == nil || failure.Class != want || len(events) != 0 {
			t.Errorf("%s ends with %v, %v", reason, events, failure)
		}
	}
}

func ending(t *testing.T, reason string) model.Executor {
	return vendor.Replay(t, strings.NewReader(`data: {"candidates":[{"finishReason":"`+reason+`"}]}`+"\n\n"))
}

// TestRetryDelayInStream checks that the delay in an error inside a stream is read.
func TestRetryDelayInStream(t *testing.T) {
	_, failure := vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(vendor.Recorded(t, "error_rate"))), hello())
	if failure == nil || failure.RetryAfter != 39500*time.Millisecond || failure.Status != 0 {
		t.Errorf("the error is %v", failure)
	}
}
