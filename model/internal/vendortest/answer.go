package vendortest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

// Ask sends req to e and returns the events of its answer, and the error if it broke off. It checks
// the rules for every answer: the events are in order, the answer ends once, with a finish or with
// an error, and an error is a *model.Error that names the provider.
func Ask(t testing.TB, e model.Executor, req *model.Request) ([]model.Event, *model.Error) {
	t.Helper()
	return AskContext(t.Context(), t, e, req)
}

// AskContext is Ask with a given context.
func AskContext(ctx context.Context, t testing.TB, e model.Executor, req *model.Request) (events []model.Event, failure *model.Error) {
	t.Helper()
	answer := &model.Answer{}
	for ev, err := range e.Stream(ctx, req) {
		if failure != nil {
			t.Errorf("an error is followed by %+v, %v", ev, err)
			return events, failure
		}
		if err != nil {
			failure = checkError(t, err)
			continue
		}
		if ev.Usage != nil {
			checkUsage(t, ev.Usage)
			usage := *ev.Usage // valid only until the next event
			ev.Usage = &usage
		}
		if ev.Type == model.EventToolCallStart && ev.Name == "" {
			t.Errorf("call %d starts without a name", ev.Index)
		}
		if err := answer.Add(&ev); err != nil {
			t.Errorf("event %d: %v", len(events), err)
			return events, failure
		}
		events = append(events, ev)
	}
	if answer.Finished == (failure != nil) {
		t.Errorf("finished is %v with the error %v", answer.Finished, failure)
	}
	return events, failure
}

func checkError(t testing.TB, err error) *model.Error {
	t.Helper()
	failure, ok := err.(*model.Error) //nolint:errorlint // the contract wants the type itself
	if !ok {
		t.Errorf("the error is a %T, want a *model.Error", err)
		return model.AsError(err)
	}
	if failure.Provider != Provider {
		t.Errorf("the error names the provider %q", failure.Provider)
	}
	return failure
}

// checkUsage checks that a usage's details do not exceed its totals.
func checkUsage(t testing.TB, u *model.Usage) {
	t.Helper()
	if u.CacheRead+u.CacheWrite > u.Input || u.Reasoning > u.Output || u.Total() != u.Input+u.Output {
		t.Errorf("the usage %+v does not add up", *u)
	}
}

// Assemble assembles an answer; the events must be in order.
func Assemble(t testing.TB, events []model.Event) *model.Answer {
	t.Helper()
	answer := &model.Answer{}
	for i := range events {
		if err := answer.Add(&events[i]); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	return answer
}

// Reasoning returns a piece of reasoning.
func Reasoning(text, encrypted, id string) model.Part {
	return model.Part{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: text, Encrypted: encrypted, ID: id}}
}

// ToolCall returns a call of a tool.
func ToolCall(id, name, arguments string) model.Part {
	return model.Part{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}
}

// ToolResult returns the result of a call.
func ToolResult(id, name string, failed bool, content ...model.Part) model.Part {
	return model.Part{Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: id, Name: name, Content: content, IsError: failed}}
}

// JSON returns the JSON of a value.
func JSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// diffMessages returns the difference between two messages.
func diffMessages(want, got model.Message) string {
	return cmp.Diff(want, got, cmp.Transformer("emptyIsNil", func(parts []model.Part) []model.Part {
		return append([]model.Part{}, parts...)
	}))
}
