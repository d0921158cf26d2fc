package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

const (
	paris = `{"city":"Paris"}`
	oslo  = `{"city":"Oslo","days":3}`

	citySchema = `{"type":"object","properties":{"city":{"type":"string"}}}`
	listSchema = `{"type":"array","items":{"type":"integer"}}`
)

var usual = &model.Usage{Input: 36, Output: 11}

var recordings = []vendortest.Recording{
	{Name: "text", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{Name: "nameless", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{Name: "tools", Reason: model.FinishToolCalls,
		Usage: &model.Usage{Input: 330, Output: 80, CacheRead: 200, CacheWrite: 100, Reasoning: 12},
		Parts: []model.Part{reasoning("Two cities.", thinkingMark+"EqQBCgIY=="), model.Text("Looking it up."),
			vendortest.ToolCall("toolu_paris", "weather", paris), vendortest.ToolCall("toolu_oslo", "weather", oslo), vendortest.ToolCall("toolu_now", "now", `{}`)}},
	{Name: "redacted", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{
		reasoning("", redactedMark+"EmwKAhgB=="), reasoning("Hm.", thinkingMark+"c2ln"), reasoning("", thinkingMark+"b21pdHRlZA=="), model.Text("Yes.")}},
	{Name: "interleaved", Reason: model.FinishToolCalls, Usage: usual, Parts: []model.Part{
		reasoning("One.", thinkingMark+"c2lnMQ=="), vendortest.ToolCall("toolu_a", "weather", paris),
		reasoning("Two.", thinkingMark+"c2lnMg=="), vendortest.ToolCall("toolu_b", "now", `{}`)}},
	{Name: "initial", Reason: model.FinishToolCalls, Usage: usual, Parts: []model.Part{
		reasoning("Hm.", thinkingMark+"c2ln"), vendortest.ToolCall("toolu_a", "weather", `{"city": "Paris"}`)}},
	{Name: "refusal", Reason: model.FinishContentFilter, Usage: usual, Parts: []model.Part{model.Text("Well")}},
	{Name: "max_tokens", Reason: model.FinishMaxTokens, Usage: &model.Usage{Input: 36, Output: 16},
		Parts: []model.Part{model.Text("Once upon"), vendortest.ToolCall("toolu_a", "weather", `{"ci`)}},
	{Name: "window", Reason: model.FinishMaxTokens, Usage: usual, Parts: []model.Part{model.Text("Once upon")}},
	{Name: "stop_sequence", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Stop")}},
	{Name: "pause", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Wait")}},
	{Name: "empty", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 2}},
	{Name: "unknown", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Hi!")}},
	{Name: "open_block", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Hi")}},
	{Name: "no_reason", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 1}, Parts: []model.Part{model.Text("Hi")}},
	{Name: "no_starts", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Hi")}},
	{Name: "no_end", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Hi")}},
	{Name: "document", Reason: model.FinishToolCalls, Usage: usual, Parts: []model.Part{model.Text("Hi"), vendortest.ToolCall("t1", "now", `{}`)}},
	{Name: "document_no_reason", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "done", Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text("Hi")}},
	{Name: "no_usage", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},

	{Name: "overloaded", Class: model.Overloaded, Message: "Overloaded", Parts: []model.Part{model.Text("Half")}},
	{Name: "rate", Class: model.RateLimited, Message: "Number of requests"},
	{Name: "api_error", Class: model.Provider, Message: "Internal server error", Parts: []model.Part{model.Text("Half")}},
	{Name: "open_call", Reason: model.FinishToolCalls, Usage: usual, Parts: []model.Part{vendortest.ToolCall("t1", "x", `{}`)}},
	{Name: "stray", Class: model.Provider, Message: "not open"},
	{Name: "twice", Class: model.StreamInterrupted, Message: "ended before"},
	{Name: "unnamed_call", Class: model.StreamInterrupted, Message: "ended before", Parts: []model.Part{vendortest.ToolCall("call_0_0", "weather", `{}`)}},
	{Name: "malformed", Class: model.Provider, Message: "malformed", Parts: []model.Part{model.Text("Half")}},

	{Name: "report", Hidden: reportName, Request: asking(citySchema), Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text(`{"city":"Oslo"}`)}},
	{Name: "report_spoken", Hidden: reportName, Request: asking(citySchema), Reason: model.FinishStop, Usage: usual, Parts: []model.Part{
		reasoning("Hm.", thinkingMark+"c2ln"), model.Text(`{"city":"Oslo"}`), reasoning("Here it is.", "")}},
	{Name: "report_with_call", Hidden: reportName, Request: asking(citySchema), Reason: model.FinishToolCalls, Usage: usual, Parts: []model.Part{
		model.Text("First."), vendortest.ToolCall("toolu_n", "now", `{}`), model.Text(`{"city":"Oslo"}`)}},
	{Name: "report_wrapped", Hidden: reportName, Request: asking(listSchema), Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text(`[1, 2]`)}},
	{Name: "report_cut", Hidden: reportName, Request: asking(listSchema), Reason: model.FinishMaxTokens, Usage: usual, Parts: []model.Part{model.Text(`{"value":[1, `)}},
	{Name: "report_none", Hidden: reportName, Request: asking(citySchema), Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text(`{"city":"Oslo"}`)}},
	{Name: "report_empty", Hidden: reportName, Request: asking(citySchema), Reason: model.FinishStop, Usage: usual, Parts: []model.Part{model.Text(`{}`)}},
	{Name: "tools", Hidden: reportName, Request: asking(citySchema), Reason: model.FinishToolCalls,
		Usage: &model.Usage{Input: 330, Output: 80, CacheRead: 200, CacheWrite: 100, Reasoning: 12},
		Parts: []model.Part{reasoning("Two cities.", thinkingMark+"EqQBCgIY=="), model.Text("Looking it up."),
			vendortest.ToolCall("toolu_paris", "weather", paris), vendortest.ToolCall("toolu_oslo", "weather", oslo), vendortest.ToolCall("toolu_now", "now", `{}`)}},
}

// asking returns a request for an answer with a schema.
func asking(schema string) func() *model.Request {
	return func() *model.Request {
		req := hello()
		req.Model = reportModel
		req.Output = &spec.OutputSchema{Schema: []byte(schema)}
		return req
	}
}

// TestCallEvents checks the events of calls one by one: a call ends once it is certain that it is
// complete.
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
		events, failure := vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(vendor.Recorded(t, name))), hello())
		if failure != nil {
			t.Fatal(failure)
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
}

// TestReasoningGoesBackUnchanged sends an answer back with its call results, like the next step of
// a turn.
func TestReasoningGoesBackUnchanged(t *testing.T) {
	for name, want := range map[string]string{
		"tools": `[{"type":"thinking","thinking":"Two cities.","signature":"EqQBCgIY=="},{"type":"text","text":"Looking it up."},
			{"type":"tool_use","id":"toolu_paris","name":"weather","input":{"city":"Paris"}},
			{"type":"tool_use","id":"toolu_oslo","name":"weather","input":{"city":"Oslo","days":3}},
			{"type":"tool_use","id":"toolu_now","name":"now","input":{}}]`,
		"redacted": `[{"type":"redacted_thinking","data":"EmwKAhgB=="},{"type":"thinking","thinking":"Hm.","signature":"c2ln"},
			{"type":"thinking","thinking":"","signature":"b21pdHRlZA=="},{"type":"text","text":"Yes."}]`,
	} {
		events, failure := vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(vendor.Recorded(t, name))), hello())
		if failure != nil {
			t.Fatal(failure)
		}
		answer := vendortest.Assemble(t, events).Message()
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

// TestABrokenAnswerTellsWhatItCost checks the usage that the vendor reported.
func TestABrokenAnswerTellsWhatItCost(t *testing.T) {
	for name, want := range map[string]*model.Usage{
		"overloaded": {Input: 36, Output: 1},
		"rate":       {Input: 36, Output: 1},
	} {
		_, failure := vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(vendor.Recorded(t, name))), hello())
		if diff := cmp.Diff(want, failure.Usage); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", name, diff)
		}
	}
	_, failure := vendortest.Ask(t, vendor.Replay(t, strings.NewReader("")), hello())
	if failure.Class != model.StreamInterrupted || failure.Usage != nil {
		t.Errorf("an empty stream gives %v with the usage %v", failure, failure.Usage)
	}
}

// TestUsageIsNotAddedUp: each of the vendor's counts includes the previous counts.
func TestUsageIsNotAddedUp(t *testing.T) {
	a := newAnswer(nil)
	for _, u := range []*usage{
		{InputTokens: 10, CacheReadInputTokens: 5, OutputTokens: 1},
		nil,
		{OutputTokens: 7},
		{InputTokens: 10, CacheReadInputTokens: 5, CacheCreationInputTokens: 2, OutputTokens: 9},
	} {
		a.countUsage(u)
	}
	if want := (model.Usage{Input: 17, Output: 9, CacheRead: 5, CacheWrite: 2}); a.usage != want {
		t.Errorf("the usage is %+v, want %+v", a.usage, want)
	}
}
