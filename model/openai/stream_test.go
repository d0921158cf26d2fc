package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

// recording is a recorded stream and what it amounts to.
type recording struct {
	api    API
	name   string
	parts  []model.Part
	reason model.FinishReason
	usage  *model.Usage
	// class and message are those of the error the stream ends with.
	class   model.ErrorClass
	message string
}

func text(s string) model.Part { return model.Text(s) }

func reasoning(text, encrypted, id string) model.Part {
	return model.Part{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: text, Encrypted: encrypted, ID: id}}
}

func toolCall(id, name, arguments string) model.Part {
	return model.Part{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}
}

const (
	paris = `{"city":"Paris"}`
	oslo  = `{"city":"Oslo","days":3}`
)

var recordings = []recording{
	{api: Responses, name: "text", reason: model.FinishStop, usage: &model.Usage{Input: 36, Output: 11},
		parts: []model.Part{text("Grüß Gott, \"Welt\"\n👋")}},
	{api: Responses, name: "two_messages", reason: model.FinishStop, usage: &model.Usage{Input: 36, Output: 11},
		parts: []model.Part{text("Let me look.\n\nIt is sunny.")}},
	{api: Responses, name: "reasoning", reason: model.FinishStop,
		usage: &model.Usage{Input: 120, Output: 340, CacheRead: 64, CacheWrite: 32, Reasoning: 320},
		parts: []model.Part{reasoning("**Plan**\nCompare\n\nDecide", "gAAAAABo-final==", "rs_1"), text("Both.")}},
	{api: Responses, name: "reasoning_text", reason: model.FinishStop,
		parts: []model.Part{reasoning("Hmm, yes.", "", ""), text("Yes.")}},
	{api: Responses, name: "calls", reason: model.FinishToolCalls,
		usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12},
		parts: []model.Part{reasoning("", "gAAA-calls", "rs_1"), text("Looking."),
			toolCall("call_paris", "weather", paris), toolCall("call_oslo", "weather", oslo), toolCall("call_now", "now", `{}`)}},
	{api: Responses, name: "calls_done_only", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{toolCall("call_a", "weather", paris), toolCall("call_b", "weather", oslo), toolCall("call_c", "now", `{}`)}},
	{api: Responses, name: "calls_initial", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{toolCall("call_a", "weather", paris), toolCall("call_b", "weather", oslo), toolCall("call_c", "weather", paris)}},
	{api: Responses, name: "calls_uncounted", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{toolCall("call_a", "weather", paris), toolCall("call_b", "weather", oslo), toolCall("call_c", "now", `{}`)}},
	{api: Responses, name: "calls_late_name", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{toolCall("call_a", "weather", paris), toolCall("call_?", "weather", oslo)}},
	{api: Responses, name: "refusal", reason: model.FinishStop, usage: &model.Usage{Input: 20, Output: 9},
		parts: []model.Part{text("I can't help with that.")}},
	{api: Responses, name: "max_tokens", reason: model.FinishMaxTokens, usage: &model.Usage{Input: 20, Output: 16},
		parts: []model.Part{text("Once upon"), toolCall("call_a", "weather", `{"ci`)}},
	{api: Responses, name: "content_filter", reason: model.FinishContentFilter, usage: &model.Usage{Input: 20, Output: 16},
		parts: []model.Part{text("Well")}},
	{api: Responses, name: "steered", class: model.Provider, message: "steered"},
	{api: Responses, name: "failed_rate", class: model.RateLimited, message: "Rate limit reached"},
	{api: Responses, name: "failed_server", class: model.Provider, message: "failed to generate", parts: []model.Part{text("Half")}},
	{api: Responses, name: "error_flat", class: model.ContextOverflow, message: "exceeds the context window"},
	{api: Responses, name: "error_nested", class: model.RateLimited, message: "Too Many Requests"},
	{api: Responses, name: "error_unnamed", class: model.ContentFiltered, message: "flagged"},

	{api: ChatCompletions, name: "text", reason: model.FinishStop, usage: &model.Usage{Input: 36, Output: 11},
		parts: []model.Part{text("Grüß Gott, \"Welt\"\n👋")}},
	{api: ChatCompletions, name: "refusal", reason: model.FinishStop, usage: &model.Usage{Input: 20, Output: 9},
		parts: []model.Part{text("I can't help with that.")}},
	{api: ChatCompletions, name: "reasoning", reason: model.FinishStop,
		usage: &model.Usage{Input: 120, Output: 340, CacheRead: 64, CacheWrite: 32, Reasoning: 320},
		parts: []model.Part{reasoning("Hmm, yes. Sure.", "", ""), text("Yes.")}},
	{api: ChatCompletions, name: "calls", reason: model.FinishToolCalls,
		usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12},
		parts: []model.Part{toolCall("call_paris", "weather", paris), toolCall("call_oslo", "weather", oslo), toolCall("call_now", "now", `{}`)}},
	{api: ChatCompletions, name: "calls_late_id", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{toolCall("call_paris", "weather", paris), toolCall("call_?", "weather", oslo)}},
	{api: ChatCompletions, name: "calls_no_index", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{toolCall("call_?", "weather", paris), toolCall("call_?", "weather", oslo), toolCall("call_?", "now", `{}`)}},
	{api: ChatCompletions, name: "calls_same_index", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{toolCall("call_a", "weather", paris), toolCall("call_b", "weather", oslo), toolCall("call_b2", "now", `{}`)}},
	{api: ChatCompletions, name: "calls_same_id", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{toolCall("weather", "weather", paris), toolCall("call_?", "weather", oslo)}},
	{api: ChatCompletions, name: "length", reason: model.FinishMaxTokens, usage: &model.Usage{Input: 20, Output: 16},
		parts: []model.Part{text("Once upon"), toolCall("call_a", "weather", `{"ci`)}},
	{api: ChatCompletions, name: "content_filter", reason: model.FinishContentFilter, usage: &model.Usage{Input: 20, Output: 16},
		parts: []model.Part{text("Well")}},
	{api: ChatCompletions, name: "usage_everywhere", reason: model.FinishStop, usage: &model.Usage{Input: 5, Output: 2},
		parts: []model.Part{text("ab")}},
	{api: ChatCompletions, name: "no_done", reason: model.FinishStop, usage: &model.Usage{Input: 3, Output: 1},
		parts: []model.Part{text("Hi")}},
	{api: ChatCompletions, name: "no_usage", reason: model.FinishStop, parts: []model.Part{text("Hi")}},
	{api: ChatCompletions, name: "two_choices", reason: model.FinishStop, parts: []model.Part{text("Hi")}},
	{api: ChatCompletions, name: "vllm_calls", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{reasoning("Two cities, two calls.", "", ""), text("\n\n"),
			toolCall("chatcmpl-tool-1a", "weather", paris), toolCall("chatcmpl-tool-2b", "weather", oslo)}},
	{api: ChatCompletions, name: "vllm_error", class: model.Provider, message: "EngineCore", parts: []model.Part{text("Half")}},
	{api: ChatCompletions, name: "ollama_calls", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{reasoning("Two cities.", "", ""), toolCall("call_pz3", "weather", paris), toolCall("call_q7k", "weather", oslo)}},
	{api: ChatCompletions, name: "llamacpp_calls", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{reasoning("Paris.", "", ""), toolCall("Zk1", "weather", paris)}},
	{api: ChatCompletions, name: "llamacpp_error", class: model.ContextOverflow, message: "Context size", parts: []model.Part{text("Half")}},
	{api: ChatCompletions, name: "litellm_calls", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8, CacheRead: 20},
		parts: []model.Part{text("Looking."), toolCall("toolu_1", "weather", paris)}},
	{api: ChatCompletions, name: "litellm_error", class: model.RateLimited, message: "Overloaded", parts: []model.Part{text("Half")}},
	{api: ChatCompletions, name: "calls_no_reason", reason: model.FinishToolCalls,
		parts: []model.Part{toolCall("call_a", "weather", paris)}},
	{api: ChatCompletions, name: "tight", reason: model.FinishStop, parts: []model.Part{text("Hi")}},
	{api: ChatCompletions, name: "content_parts", reason: model.FinishStop, usage: &model.Usage{Input: 30, Output: 8, CacheRead: 16},
		parts: []model.Part{text("Yes.")}},
	{api: ChatCompletions, name: "error", class: model.Provider, message: "had an error", parts: []model.Part{text("Half")}},
	{api: ChatCompletions, name: "error_status", class: model.Provider, message: "Upstream error"},
	{api: ChatCompletions, name: "error_object", class: model.ContextOverflow, message: "4096 tokens"},
	{api: ChatCompletions, name: "error_finish", class: model.Provider, message: "gave up", parts: []model.Part{text("x")}},
	{api: ChatCompletions, name: "error_event", class: model.Overloaded, message: "Overloaded"},
	{api: ChatCompletions, name: "unfinished", class: model.StreamInterrupted, message: "ended before", parts: []model.Part{text("Half")}},
	{api: ChatCompletions, name: "nameless", class: model.Provider, message: "no name"},
	{api: ChatCompletions, name: "malformed", class: model.Provider, message: "malformed", parts: []model.Part{text("Half")}},
}

// maskIDs replaces the ids that were made up, where the test does not name
// them, after checking that they are fit for the vendor and differ.
func maskIDs(t *testing.T, want, got []model.Part) {
	t.Helper()
	seen := map[string]bool{}
	for i := range got {
		c := got[i].ToolCall
		if c == nil || i >= len(want) || want[i].ToolCall == nil {
			continue
		}
		if seen[c.ID] || c.ID == "" || len(c.ID) > 40 {
			t.Errorf("the id %q of call %d is not fit to be one", c.ID, i)
		}
		seen[c.ID] = true
		if strings.HasSuffix(want[i].ToolCall.ID, "?") && strings.HasPrefix(c.ID, "call_") {
			c.ID = want[i].ToolCall.ID
		}
	}
}

func TestRecordings(t *testing.T) {
	for _, r := range recordings {
		t.Run(string(r.api)+"/"+r.name, func(t *testing.T) {
			e := serve(t, r.api, answerWith(fixture(t, r.api, r.name)))
			events, failure := collect(context.Background(), t, e, hello())
			answer := assemble(t, events)
			got := answer.Message()
			maskIDs(t, r.parts, got.Parts)
			if diff := cmp.Diff(model.Message{Role: model.RoleAssistant, Parts: r.parts}, got, emptyIsNil); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			checkEnd(t, r, events, failure)
		})
	}
}

var emptyIsNil = cmp.Transformer("emptyIsNil", func(parts []model.Part) []model.Part { return slices.Clip(append([]model.Part{}, parts...)) })

// checkEnd checks that the answer ended once, and as it should.
func checkEnd(t *testing.T, r recording, events []model.Event, failure *model.Error) {
	t.Helper()
	finishes := 0
	for _, ev := range events {
		if ev.Type == model.EventFinish {
			finishes++
		}
	}
	if r.class != "" {
		if failure == nil || failure.Class != r.class || !strings.Contains(failure.Message, r.message) || finishes != 0 {
			t.Errorf("the stream ends with %v and %d finishes, want an error of class %s that says %q", failure, finishes, r.class, r.message)
		}
		return
	}
	if failure != nil || finishes != 1 {
		t.Fatalf("the stream ends with %v and %d finishes", failure, finishes)
	}
	last := events[len(events)-1]
	if last.Reason != r.reason {
		t.Errorf("the reason is %s, want %s", last.Reason, r.reason)
	}
	if diff := cmp.Diff(r.usage, last.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// TestSplitAnywhere replays every recording cut in two at every byte: where the
// network cuts a stream must not be seen.
func TestSplitAnywhere(t *testing.T) {
	for _, r := range recordings {
		t.Run(string(r.api)+"/"+r.name, func(t *testing.T) {
			t.Parallel()
			stream := fixture(t, r.api, r.name)
			replay := newReplay(t, r.api)
			want, wantFailure := replay(bytes.NewReader(stream))
			wantAnswer := assemble(t, want)
			for at := range len(stream) + 1 {
				got, failure := replay(io.MultiReader(bytes.NewReader(stream[:at]), bytes.NewReader(stream[at:])))
				if fmt.Sprint(failure) != fmt.Sprint(wantFailure) {
					t.Fatalf("cut at %d: the failure is %v, want %v", at, failure, wantFailure)
				}
				if answer := assemble(t, got); !equalEvents(want, got) || !equalAnswers(wantAnswer, answer) {
					t.Fatalf("cut at %d: events (-want +got):\n%s", at, cmp.Diff(want, got))
				}
			}
		})
	}
}

// newReplay returns a function that has a stream answered and returns the
// events of it.
func newReplay(t *testing.T, api API) func(io.Reader) ([]model.Event, *model.Error) {
	var body io.Reader
	e := offline(t, Config{API: api}, func(r *http.Request) (*http.Response, error) {
		return streamResponse(r, io.NopCloser(body)), nil
	})
	req := hello()
	return func(stream io.Reader) ([]model.Event, *model.Error) {
		body = stream
		return collect(context.Background(), t, e, req)
	}
}

func equalEvents(a, b []model.Event) bool {
	return slices.EqualFunc(a, b, func(a, b model.Event) bool {
		if (a.Usage == nil) != (b.Usage == nil) || a.Usage != nil && *a.Usage != *b.Usage {
			return false
		}
		a.Usage, b.Usage = nil, nil
		return a == b
	})
}

func equalAnswers(a, b *model.Answer) bool {
	return a.Reason == b.Reason && a.Usage == b.Usage && a.Finished == b.Finished &&
		reflect.DeepEqual(a.Message(), b.Message())
}

// TestBrokenAnywhere breaks every recording off at every byte: the answer is
// whole, or it is an error.
func TestBrokenAnywhere(t *testing.T) {
	for _, r := range recordings {
		t.Run(string(r.api)+"/"+r.name, func(t *testing.T) {
			t.Parallel()
			stream := fixture(t, r.api, r.name)
			replay := newReplay(t, r.api)
			for at := range stream {
				events, failure := replay(bytes.NewReader(stream[:at]))
				answer := assemble(t, events)
				if answer.Finished == (failure != nil) {
					t.Fatalf("cut at %d: finished is %v with the error %v", at, answer.Finished, failure)
				}
				if answer.Finished && r.class == "" && (answer.Reason != r.reason || answer.Text() != textOf(r.parts)) {
					t.Fatalf("cut at %d: a partial answer counts as finished", at)
				}
			}
		})
	}
}

func textOf(parts []model.Part) string { return model.PartsText(parts) }

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
			e := replaying(t, api, bytes.NewReader(fixture(t, api, "calls")))
			events, failure := collect(context.Background(), t, e, hello())
			if failure != nil {
				t.Fatal(failure)
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUsageAddsUp checks that the parts of a usage are parts of its sums, also
// over several answers.
func TestUsageAddsUp(t *testing.T) {
	var total model.Usage
	answers := 0
	for _, r := range recordings {
		if r.usage == nil {
			continue
		}
		e := replaying(t, r.api, bytes.NewReader(fixture(t, r.api, r.name)))
		events, failure := collect(context.Background(), t, e, hello())
		if failure != nil {
			t.Fatal(failure)
		}
		u := assemble(t, events).Usage
		if u.CacheRead+u.CacheWrite > u.Input || u.Reasoning > u.Output || u.Total() != u.Input+u.Output {
			t.Errorf("%s/%s: %+v does not add up", r.api, r.name, u)
		}
		total.Add(u)
		answers++
	}
	want := model.Usage{}
	for _, r := range recordings {
		if r.usage != nil {
			want.Add(*r.usage)
		}
	}
	if total != want || answers == 0 {
		t.Errorf("%d answers use %+v, want %+v", answers, total, want)
	}
}

// TestMadeUpIDs checks that the id given to a call without one is the same for
// the same answer and another in the next step of the conversation.
func TestMadeUpIDs(t *testing.T) {
	id := func(req *model.Request) string {
		e := replaying(t, ChatCompletions, bytes.NewReader(fixture(t, ChatCompletions, "calls_no_index")))
		events, failure := collect(context.Background(), t, e, req)
		if failure != nil {
			t.Fatal(failure)
		}
		id, _ := assemble(t, events).Call(0)
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
