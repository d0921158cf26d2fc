package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// recording is a recorded stream and what it amounts to.
type recording struct {
	name string
	// output is the schema of the answer that was asked for, empty for none.
	output string
	parts  []model.Part
	reason model.FinishReason
	usage  *model.Usage
	// class and message are those of the error the stream ends with.
	class   model.ErrorClass
	message string
}

const (
	paris = `{"city":"Paris"}`
	oslo  = `{"city":"Oslo","days":3}`

	citySchema = `{"type":"object","properties":{"city":{"type":"string"}}}`
	listSchema = `{"type":"array","items":{"type":"integer"}}`
)

var usual = &model.Usage{Input: 36, Output: 11}

var recordings = []recording{
	{name: "text", reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{name: "nameless", reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{name: "tools", reason: model.FinishToolCalls,
		usage: &model.Usage{Input: 330, Output: 80, CacheRead: 200, CacheWrite: 100, Reasoning: 12},
		parts: []model.Part{reasoning("Two cities.", thinkingMark+"EqQBCgIY=="), model.Text("Looking it up."),
			toolCall("toolu_paris", "weather", paris), toolCall("toolu_oslo", "weather", oslo), toolCall("toolu_now", "now", `{}`)}},
	{name: "redacted", reason: model.FinishStop, usage: usual, parts: []model.Part{
		reasoning("", redactedMark+"EmwKAhgB=="), reasoning("Hm.", thinkingMark+"c2ln"), reasoning("", thinkingMark+"b21pdHRlZA=="), model.Text("Yes.")}},
	{name: "interleaved", reason: model.FinishToolCalls, usage: usual, parts: []model.Part{
		reasoning("One.", thinkingMark+"c2lnMQ=="), toolCall("toolu_a", "weather", paris),
		reasoning("Two.", thinkingMark+"c2lnMg=="), toolCall("toolu_b", "now", `{}`)}},
	{name: "initial", reason: model.FinishToolCalls, usage: usual, parts: []model.Part{
		reasoning("Hm.", thinkingMark+"c2ln"), toolCall("toolu_a", "weather", `{"city": "Paris"}`)}},
	{name: "refusal", reason: model.FinishContentFilter, usage: usual, parts: []model.Part{model.Text("Well")}},
	{name: "max_tokens", reason: model.FinishMaxTokens, usage: &model.Usage{Input: 36, Output: 16},
		parts: []model.Part{model.Text("Once upon"), toolCall("toolu_a", "weather", `{"ci`)}},
	{name: "window", reason: model.FinishMaxTokens, usage: usual, parts: []model.Part{model.Text("Once upon")}},
	{name: "stop_sequence", reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text("Stop")}},
	{name: "pause", reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text("Wait")}},
	{name: "empty", reason: model.FinishStop, usage: &model.Usage{Input: 36, Output: 2}},
	{name: "unknown", reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text("Hi!")}},
	{name: "no_usage", reason: model.FinishStop, parts: []model.Part{model.Text("Hi")}},

	{name: "overloaded", class: model.Overloaded, message: "Overloaded", parts: []model.Part{model.Text("Half")}},
	{name: "rate", class: model.RateLimited, message: "Number of requests"},
	{name: "api_error", class: model.Provider, message: "Internal server error", parts: []model.Part{model.Text("Half")}},
	{name: "open_block", class: model.Provider, message: "does not end", parts: []model.Part{model.Text("Hi")}},
	{name: "no_reason", class: model.Provider, message: "why the answer ended", parts: []model.Part{model.Text("Hi")}},
	{name: "stray", class: model.Provider, message: "not open"},
	{name: "twice", class: model.Provider, message: "twice"},
	{name: "unnamed_call", class: model.Provider, message: "no id"},
	{name: "malformed", class: model.Provider, message: "malformed", parts: []model.Part{model.Text("Half")}},

	{name: "report", output: citySchema, reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text(`{"city":"Oslo"}`)}},
	{name: "report_spoken", output: citySchema, reason: model.FinishStop, usage: usual, parts: []model.Part{
		reasoning("Hm.", thinkingMark+"c2ln"), model.Text(`{"city":"Oslo"}`), reasoning("Here it is.", "")}},
	{name: "report_with_call", output: citySchema, reason: model.FinishToolCalls, usage: usual, parts: []model.Part{
		model.Text("First."), toolCall("toolu_n", "now", `{}`), model.Text(`{"city":"Oslo"}`)}},
	{name: "report_wrapped", output: listSchema, reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text(`[1, 2]`)}},
	{name: "report_cut", output: listSchema, reason: model.FinishMaxTokens, usage: usual, parts: []model.Part{model.Text(`{"value":[1, `)}},
	{name: "report_none", output: citySchema, reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text(`{"city":"Oslo"}`)}},
	{name: "report_empty", output: citySchema, reason: model.FinishStop, usage: usual, parts: []model.Part{model.Text(`{}`)}},
	{name: "tools", output: citySchema, reason: model.FinishToolCalls,
		usage: &model.Usage{Input: 330, Output: 80, CacheRead: 200, CacheWrite: 100, Reasoning: 12},
		parts: []model.Part{reasoning("Two cities.", thinkingMark+"EqQBCgIY=="), model.Text("Looking it up."),
			toolCall("toolu_paris", "weather", paris), toolCall("toolu_oslo", "weather", oslo), toolCall("toolu_now", "now", `{}`)}},
}

// request returns the request that the recording answers.
func (r *recording) request() *model.Request {
	req := hello()
	if r.output != "" {
		req.Output = &spec.OutputSchema{Schema: []byte(r.output)}
	}
	return req
}

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
				if strings.Contains(fmt.Sprint(ev), reportName) {
					t.Errorf("an event names the report: %+v", ev)
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
		t.Errorf("the usage %+v does not add up", *u)
	}
}

// newReplay returns a function that has a stream answered and returns the
// events of it.
func newReplay(t *testing.T, req *model.Request) func(io.Reader) ([]model.Event, *model.Error) {
	var body io.Reader
	e := offline(t, Config{}, func(r *http.Request) (*http.Response, error) {
		return streamResponse(r, io.NopCloser(body)), nil
	})
	return func(stream io.Reader) ([]model.Event, *model.Error) {
		body = stream
		return collect(context.Background(), t, e, req)
	}
}

// TestSplitAnywhere replays every recording cut in two at every byte: where the
// network cuts a stream must not be seen.
func TestSplitAnywhere(t *testing.T) {
	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			stream := fixture(t, r.name)
			replay := newReplay(t, r.request())
			want, wantFailure := replay(bytes.NewReader(stream))
			for at := range len(stream) + 1 {
				got, failure := replay(io.MultiReader(bytes.NewReader(stream[:at]), bytes.NewReader(stream[at:])))
				if fmt.Sprint(failure) != fmt.Sprint(wantFailure) {
					t.Fatalf("cut at %d: the failure is %v, want %v", at, failure, wantFailure)
				}
				if !slices.EqualFunc(want, got, equalEvents) {
					t.Fatalf("cut at %d: events (-want +got):\n%s", at, cmp.Diff(want, got))
				}
			}
		})
	}
}

func equalEvents(a, b model.Event) bool {
	if (a.Usage == nil) != (b.Usage == nil) || a.Usage != nil && *a.Usage != *b.Usage {
		return false
	}
	a.Usage, b.Usage = nil, nil
	return a == b
}

// TestATruncatedStreamIsInterrupted ends every recording at every byte: only the
// whole stream is an answer.
func TestATruncatedStreamIsInterrupted(t *testing.T) {
	for _, r := range recordings {
		if r.class != "" {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			stream := fixture(t, r.name)
			replay := newReplay(t, r.request())
			for at := range stream {
				events, failure := replay(bytes.NewReader(stream[:at]))
				if failure == nil || failure.Class != model.StreamInterrupted || assemble(t, events).Finished {
					t.Fatalf("cut at %d: the failure is %v", at, failure)
				}
			}
		})
	}
}

// TestCallEvents looks at the events of calls one by one: a call ends when it
// is known that nothing cut it off.
func TestCallEvents(t *testing.T) {
	start := func(index int, id, name string) model.Event {
		return model.Event{Type: model.EventToolCallStart, Index: index, ID: id, Name: name}
	}
	delta := func(index int, piece string) model.Event {
		return model.Event{Type: model.EventToolCallDelta, Index: index, Delta: piece}
	}
	end := func(index int) model.Event { return model.Event{Type: model.EventToolCallEnd, Index: index} }
	for name, want := range map[string][]model.Event{
		"tools": {
			{Type: model.EventReasoning, Delta: "Two "}, {Type: model.EventReasoning, Delta: "cities."},
			{Type: model.EventReasoningEncrypted, Delta: thinkingMark + "EqQBCgIY=="},
			{Type: model.EventText, Delta: "Looking"}, {Type: model.EventText, Delta: " it up."},
			start(0, "toolu_paris", "weather"), delta(0, `{"ci`), delta(0, `ty":"Paris"}`), end(0),
			start(1, "toolu_oslo", "weather"), delta(1, `{"city":"O`), delta(1, `slo","days":3}`), end(1),
			start(2, "toolu_now", "now"), delta(2, `{}`), end(2),
			{Type: model.EventFinish, Reason: model.FinishToolCalls,
				Usage: &model.Usage{Input: 330, Output: 80, CacheRead: 200, CacheWrite: 100, Reasoning: 12}},
		},
		"max_tokens": {
			{Type: model.EventText, Delta: "Once upon"}, start(0, "toolu_a", "weather"), delta(0, `{"ci`),
			{Type: model.EventFinish, Reason: model.FinishMaxTokens, Usage: &model.Usage{Input: 36, Output: 16}},
		},
	} {
		events, failure := collect(context.Background(), t, replaying(t, bytes.NewReader(fixture(t, name))), hello())
		if failure != nil {
			t.Fatal(failure)
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
}

// TestReasoningGoesBackUnchanged sends an answer back with the results of its
// calls, as the next step of a turn does.
func TestReasoningGoesBackUnchanged(t *testing.T) {
	for name, want := range map[string]string{
		"tools": `[{"type":"thinking","thinking":"Two cities.","signature":"EqQBCgIY=="},{"type":"text","text":"Looking it up."},
			{"type":"tool_use","id":"toolu_paris","name":"weather","input":{"city":"Paris"}},
			{"type":"tool_use","id":"toolu_oslo","name":"weather","input":{"city":"Oslo","days":3}},
			{"type":"tool_use","id":"toolu_now","name":"now","input":{}}]`,
		"redacted": `[{"type":"redacted_thinking","data":"EmwKAhgB=="},{"type":"thinking","thinking":"Hm.","signature":"c2ln"},
			{"type":"thinking","thinking":"","signature":"b21pdHRlZA=="},{"type":"text","text":"Yes."}]`,
	} {
		events, failure := collect(context.Background(), t, replaying(t, bytes.NewReader(fixture(t, name))), hello())
		if failure != nil {
			t.Fatal(failure)
		}
		answer := assemble(t, events).Message()
		results := model.Message{Role: model.RoleTool}
		for _, c := range answer.ToolCalls() {
			results.Parts = append(results.Parts, toolResultPart(c.ID, false, model.Text("fine")))
		}
		req := hello()
		req.Messages = append(req.Messages, answer, results, model.User("Go on."))
		_, body := encoded(t, req, concessions{})
		var sent struct {
			Messages []struct {
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		compareJSON(t, want, string(sent.Messages[1].Content))
	}
}

// TestABrokenAnswerTellsWhatItCost as far as the vendor said.
func TestABrokenAnswerTellsWhatItCost(t *testing.T) {
	for name, want := range map[string]*model.Usage{
		"overloaded": {Input: 36, Output: 1},
		"rate":       {Input: 36, Output: 1},
	} {
		_, failure := collect(context.Background(), t, replaying(t, bytes.NewReader(fixture(t, name))), hello())
		if diff := cmp.Diff(want, failure.Usage); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", name, diff)
		}
	}
	_, failure := collect(context.Background(), t, replaying(t, strings.NewReader("")), hello())
	if failure.Class != model.StreamInterrupted || failure.Usage != nil {
		t.Errorf("an empty stream gives %v with the usage %v", failure, failure.Usage)
	}
}

// TestUsageIsNotAddedUp: each count of the vendor's repeats the ones before.
func TestUsageIsNotAddedUp(t *testing.T) {
	a := newAnswer(nil)
	for _, u := range []*usage{
		{InputTokens: 10, CacheReadInputTokens: 5, OutputTokens: 1},
		nil,
		{OutputTokens: 7},
		{InputTokens: 10, CacheReadInputTokens: 5, CacheCreationInputTokens: 2, OutputTokens: 9},
	} {
		a.count(u)
	}
	if want := (model.Usage{Input: 17, Output: 9, CacheRead: 5, CacheWrite: 2}); a.usage != want {
		t.Errorf("the usage is %+v, want %+v", a.usage, want)
	}
}
