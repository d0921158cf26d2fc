package turntest

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/event"
)

// DelegateLog is the log of two concurrent delegates of the same agent, whose calls have the same
// id.
func DelegateLog() []event.Event {
	first, second := []string{"c1"}, []string{"c1#2"}
	return []event.Event{
		{Data: &event.RunStart{AgentID: "boss"}},
		{Path: first, Data: &event.RunStart{AgentID: "clerk"}},
		{Path: second, Data: &event.RunStart{AgentID: "clerk"}},
		{Path: first, Data: &event.TextDelta{Delta: "one"}},
		{Path: second, Data: &event.TextDelta{Delta: "two"}},
		{Path: first, Data: &event.TextDelta{Delta: " more"}},
		{Path: first, Data: &event.ToolCallReady{ID: "x", Name: "copy", Arguments: json.RawMessage(`{}`)}},
		{Path: first, Data: &event.InferenceComplete{Model: "m"}},
		{Path: second, Data: &event.ToolCallReady{ID: "x", Name: "sort", Arguments: json.RawMessage(`{}`)}},
		{Path: second, Data: &event.InferenceComplete{Model: "m"}},
		{Path: first, Data: &event.ToolCallDone{ID: "x", Name: "copy", Outcome: event.CallSucceeded, Result: event.ToolResult{Content: []event.Content{{Type: "text", Text: "copied"}}}}},
		{Path: []string{"c1#2", "c9"}, Data: &event.TextDelta{Delta: "without a beginning"}},
		{Path: second, Data: &event.RunFinish{Status: event.StatusFailed, Termination: event.Termination{Type: event.Failed, Detail: "no ink"}}},
		{Data: &event.TextDelta{Delta: "Done."}},
		{Data: &event.InferenceComplete{Model: "m"}},
		{Data: &event.RunFinish{Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}, Result: &event.Output{Response: "Done."}, Steps: 1}},
	}
}
