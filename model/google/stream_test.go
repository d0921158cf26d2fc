package google

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

// recording is a recorded stream and what it amounts to.
type recording struct {
	name   string
	req    func() *model.Request // hello, unless set
	parts  []model.Part
	reason model.FinishReason
	usage  *model.Usage
	// class and message are those of the error the stream ends with.
	class   model.ErrorClass
	message string
}

func (r *recording) request() *model.Request {
	if r.req == nil {
		return hello()
	}
	return r.req()
}

func text(s string) model.Part { return model.Text(s) }

func reasoning(text, encrypted string) model.Part {
	return model.Part{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: text, Encrypted: encrypted}}
}

func toolCall(id, name, arguments string) model.Part {
	return model.Part{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: id, Name: name, Arguments: []byte(arguments)}}
}

const paris = `{"city": "Paris", "station": 9007199254740993}`

var recordings = []recording{
	{name: "text", reason: model.FinishStop, usage: &model.Usage{Input: 36, Output: 11},
		parts: []model.Part{text("Grüß Gott, \"Welt\"\n👋")}},
	{name: "thoughts", reason: model.FinishStop,
		usage: &model.Usage{Input: 127, Output: 340, CacheRead: 64, Reasoning: 320},
		parts: []model.Part{reasoning("**Plan**\nCompare both.", ""), text("Both fit."), reasoning("", "gemini:text:c2lnLXRleHQ=")}},
	{name: "calls", reason: model.FinishToolCalls,
		usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, Reasoning: 12},
		parts: []model.Part{reasoning("Look it up.", ""), text("Looking."), reasoning("", "gemini:call:c2lnLWNhbGw="),
			toolCall("call_0_0", "weather", paris), toolCall("call_0_1", "weather", `{"city": "Oslo", "days": 3}`), toolCall("call_0_2", "now", `{}`)}},
	{name: "calls_ids", reason: model.FinishToolCalls, usage: &model.Usage{Input: 30, Output: 8},
		parts: []model.Part{reasoning("", "gemini:call:c2lnLTE="), toolCall("vn3kx1", "weather", `{"city": "Paris"}`), toolCall("vn3kx2", "now", `{}`)}},
	{name: "max_tokens", reason: model.FinishMaxTokens, usage: &model.Usage{Input: 20, Output: 16},
		parts: []model.Part{text("Once upon a")}},
	{name: "max_thoughts", reason: model.FinishMaxTokens, usage: &model.Usage{Input: 20, Output: 16, Reasoning: 16}},
	{name: "safety", reason: model.FinishContentFilter, usage: &model.Usage{Input: 20, Output: 1}, parts: []model.Part{text("Well")}},
	{name: "blocked", reason: model.FinishContentFilter, usage: &model.Usage{Input: 20}},
	{name: "malformed_call", class: model.Provider, message: "malformed function call", parts: []model.Part{text("I'll")}},
	{name: "other", class: model.Provider, message: "OTHER"},
	{name: "missing_signature", class: model.InvalidRequest, message: "MISSING_THOUGHT_SIGNATURE"},
	{name: "unfinished", class: model.StreamInterrupted, message: "ended before", parts: []model.Part{text("Half")}},
	{name: "stop_everywhere", reason: model.FinishStop, usage: &model.Usage{Input: 5, Output: 2}, parts: []model.Part{text("ab")}},
	{name: "late_usage", reason: model.FinishStop, usage: &model.Usage{Input: 3, Output: 1}, parts: []model.Part{text("Hi")}},
	{name: "no_usage", reason: model.FinishStop, parts: []model.Part{text("Hi")}},
	{name: "two_candidates", reason: model.FinishStop, parts: []model.Part{text("Hi")}},
	{name: "unknown_parts", reason: model.FinishStop, parts: []model.Part{text("Hi")}},
	{name: "crlf", reason: model.FinishStop, usage: &model.Usage{Input: 3, Output: 2}, parts: []model.Part{text("Hi there")}},
	{name: "nameless", class: model.Provider, message: "no name"},
	{name: "broken_chunk", class: model.Provider, message: "malformed", parts: []model.Part{text("Half")}},
	{name: "error", class: model.Overloaded, message: "overloaded", parts: []model.Part{text("Half")}},
	{name: "error_rate", class: model.RateLimited, message: "quota"},
	{name: "error_plain", class: model.Provider, message: "internal error", parts: []model.Part{text("Half")}},

	{name: "output", req: formed, reason: model.FinishStop, usage: &model.Usage{Input: 40, Output: 13, Reasoning: 4},
		parts: []model.Part{reasoning("Weigh it.", ""), text(paris)}},
	{name: "output_text", req: formed, reason: model.FinishStop, usage: &model.Usage{Input: 40, Output: 9},
		parts: []model.Part{text(`{"city":"Paris"}`)}},
	{name: "output_and_call", req: formed, reason: model.FinishToolCalls, usage: &model.Usage{Input: 40, Output: 9},
		parts: []model.Part{text("First"), reasoning("", "gemini:call:c2lnLTE="), toolCall("call_0_0", "weather", `{"city": "Oslo"}`), text(`{"city": "Oslo"}`)}},
}

// TestRecordings replays streams over loopback.
func TestRecordings(t *testing.T) {
	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			e := serve(t, answerWith(fixture(t, r.name)))
			events, failure := collect(context.Background(), t, e, r.request())
			got := assemble(t, events).Message()
			if diff := cmp.Diff(model.Message{Role: model.RoleAssistant, Parts: r.parts}, got, emptyIsNil); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			checkEnd(t, r, events, failure)
			for _, ev := range events {
				if strings.Contains(fmt.Sprint(ev), outputFunction) {
					t.Errorf("the function of ours shows in %+v", ev)
				}
			}
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
	if u := last.Usage; u != nil && (u.CacheRead+u.CacheWrite > u.Input || u.Reasoning > u.Output) {
		t.Errorf("the usage %+v does not add up", u)
	}
}

// TestSplitAnywhere replays every recording cut in two at every byte: where the
// network cuts a stream must not be seen.
func TestSplitAnywhere(t *testing.T) {
	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			stream := fixture(t, r.name)
			replay := newReplay(t, r)
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
func newReplay(t *testing.T, r recording) func(io.Reader) ([]model.Event, *model.Error) {
	var body io.Reader
	e := replaying(t, readerFunc(func(p []byte) (int, error) { return body.Read(p) }))
	req := r.request()
	return func(stream io.Reader) ([]model.Event, *model.Error) {
		body = stream
		return collect(context.Background(), t, e, req)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

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

// TestBrokenAnywhere breaks every recording off at every byte, by an end and by
// a fault of the connection: the answer is whole, or it is an error.
func TestBrokenAnywhere(t *testing.T) {
	for _, r := range recordings {
		if r.name == "stop_everywhere" {
			continue // every chunk of it says that it is the last
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			stream := fixture(t, r.name)
			replay := newReplay(t, r)
			for at := range stream {
				for _, broken := range []io.Reader{bytes.NewReader(stream[:at]), io.MultiReader(bytes.NewReader(stream[:at]), failing{})} {
					events, failure := replay(broken)
					answer := assemble(t, events)
					if answer.Finished == (failure != nil) {
						t.Fatalf("cut at %d: finished is %v with the error %v", at, answer.Finished, failure)
					}
					if answer.Finished && r.class == "" && (answer.Reason != r.reason || answer.Text() != model.PartsText(r.parts)) {
						t.Fatalf("cut at %d: a partial answer counts as finished", at)
					}
					if failure != nil && r.class == "" && failure.Class != model.StreamInterrupted {
						t.Fatalf("cut at %d: the error is %v", at, failure)
					}
				}
			}
		})
	}
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
	events, failure := collect(context.Background(), t, replaying(t, bytes.NewReader(fixture(t, "calls"))), hello())
	if failure != nil {
		t.Fatal(failure)
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestFinishReasons checks every reason the vendor has for an end.
func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]model.FinishReason{
		"STOP": model.FinishStop, "MAX_TOKENS": model.FinishMaxTokens,
		"SAFETY": model.FinishContentFilter, "RECITATION": model.FinishContentFilter, "LANGUAGE": model.FinishContentFilter,
		"BLOCKLIST": model.FinishContentFilter, "PROHIBITED_CONTENT": model.FinishContentFilter, "SPII": model.FinishContentFilter,
		"IMAGE_SAFETY": model.FinishContentFilter, "IMAGE_PROHIBITED_CONTENT": model.FinishContentFilter,
		"IMAGE_RECITATION": model.FinishContentFilter,
	} {
		events, failure := collect(context.Background(), t, ending(t, reason), hello())
		if failure != nil || len(events) != 1 || events[0].Reason != want {
			t.Errorf("%s ends with %v, %v", reason, events, failure)
		}
	}
	for reason, want := range map[string]model.ErrorClass{
		"OTHER": model.Provider, "MALFORMED_FUNCTION_CALL": model.Provider, "UNEXPECTED_TOOL_CALL": model.Provider,
		"TOO_MANY_TOOL_CALLS": model.Provider, "CONTINUATION": model.Provider, "NEW_REASON": model.Provider,
		"MISSING_THOUGHT_SIGNATURE": model.InvalidRequest, "FINISH_REASON_UNSPECIFIED": model.StreamInterrupted,
	} {
		events, failure := collect(context.Background(), t, ending(t, reason), hello())
		if failure == nil || failure.Class != want || len(events) != 0 {
			t.Errorf("%s ends with %v, %v", reason, events, failure)
		}
	}
}

func ending(t *testing.T, reason string) *Executor {
	return replaying(t, strings.NewReader(`data: {"candidates":[{"finishReason":"`+reason+`"}]}`+"\n\n"))
}

// TestRetryDelayInStream checks that an error inside a stream tells how long to
// wait.
func TestRetryDelayInStream(t *testing.T) {
	_, failure := collect(context.Background(), t, replaying(t, bytes.NewReader(fixture(t, "error_rate"))), hello())
	if failure == nil || failure.RetryAfter != 39500*time.Millisecond || failure.Status != 0 {
		t.Errorf("the error is %v", failure)
	}
}
