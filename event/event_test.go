package event_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/google/go-cmp/cmp"
)

const kindsOfEvents = 30

// all returns an event of every kind, and more of kinds with optional fields.
func all() []event.Data {
	return []event.Data{
		&event.RunStart{AgentID: "clerk", Revision: 3},
		&event.RunStart{AgentID: "clerk", Revision: 3, ParentTurnID: "t0", ParentCallID: "c0"},
		&event.StepStart{Step: 1, MessageID: "t1/m1"},
		&event.TextDelta{Delta: "Grüße <b> \u2028"},
		&event.ReasoningDelta{Delta: "hm"},
		&event.ReasoningEncrypted{Value: "b3BhcXVl"},
		&event.ToolCallStart{ID: "c1", Name: "look"},
		&event.ToolCallDelta{ID: "c1", Delta: `{"at":`},
		&event.ToolCallReady{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"at":1}`)},
		&event.ToolCallReady{ID: "c2", Name: "look", Arguments: json.RawMessage(`"{\"at\":"`)},
		&event.InferenceComplete{Model: "m", FinishReason: "tool_calls", Usage: event.Usage{Input: 10, Output: 5, CacheRead: 4, CacheWrite: 3, Reasoning: 2}, DurationMS: 12},
		&event.ToolCallStreamDelta{ID: "c1", Name: "look", Delta: "half"},
		&event.ActivitySnapshot{MessageID: "c1", ActivityType: "delegate", Content: json.RawMessage(`{"state":"running"}`)},
		&event.ToolCallDone{ID: "c1", Name: "look", MessageID: "t1/t1", Outcome: event.CallSucceeded, DurationMS: 7, Result: event.ToolResult{Content: []event.Content{
			{Type: "text", Text: "seen"}, {Type: "image", MediaType: "image/png", Data: []byte{0, 255}, Name: "a.png"},
		}}},
		&event.ToolCallDone{ID: "c2", Name: "look", MessageID: "t1/t1", Outcome: event.CallFailed, Result: event.ToolResult{
			Content: []event.Content{{Type: "text", Text: "no"}}, IsError: true,
		}},
		&event.StateSnapshot{Snapshot: map[string]json.RawMessage{"b": json.RawMessage(`[1]`), "a": json.RawMessage(`"x"`)}},
		&event.StepEnd{Step: 1},
		&event.RunFinish{
			Status: event.StatusSucceeded, Termination: event.Termination{Type: event.Stopped, Code: "max_rounds", Detail: "1 rounds"},
			Result: &event.Output{Response: "done"}, Usage: event.Usage{Input: 10, Output: 5}, Steps: 1,
		},
		&event.RunFinish{
			Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}, Usage: event.Usage{Input: 20, Output: 10}, Steps: 2,
			Cost: &event.Cost{Amount: 0.5, Currency: "USD"}, Agents: event.AgentUsages{
				{Agent: "boss", ToolCalls: 1, Usage: event.Usage{Input: 10, Output: 5}},
				{Agent: "clerk", ToolCalls: 2, Usage: event.Usage{Input: 10, Output: 5}, Cost: &event.Cost{Amount: 0.5, Currency: "USD"}},
			},
		},
		&event.RunFinish{Status: event.StatusFailed, Termination: event.Termination{Type: event.Failed, Code: "provider", Detail: "down"}},
		&event.RunStart{AgentID: "clerk", Revision: 3, Resumed: true},
		&event.ToolCallResumed{TargetID: "c1", Action: "resume", Result: json.RawMessage(`{"ok":true}`)},
		&event.ToolCallCancel{ID: "c1", Name: "look", Reason: "it broke off"},
		&event.StreamReset{Reason: "the connection was lost"},
		&event.ModelRetry{Attempt: 1, Class: "overloaded", Plan: "restart", WaitMS: 250},
		&event.InteractionRequest{Request: interaction.Request{
			ID: "c1", CallID: "c1", Tool: "pay", Arguments: json.RawMessage(`{"amount":5}`), Action: "tool:PermissionConfirm", Message: "Pay?",
			ResponseSchema: json.RawMessage(`{"type":"boolean"}`), Mode: "replay_tool_call",
		}},
		&event.ContextTrimmed{Dropped: 3, Previews: 1, Before: 900, After: 700, Limit: 800},
		&event.ContextCompacted{Outcome: event.CompactionDone, Messages: 12, Before: 900, After: 90, Model: "m", Usage: event.Usage{Input: 900, Output: 90}},
		&event.LoopDetected{Count: 3, HardCutoff: true, Tools: []string{"look"}},
		&event.ToolBudgetExceeded{ID: "c1", Tool: "look", MaxCalls: 2, Call: 3},
		&event.Handoff{From: "clerk", To: "boss", Count: 1},
		&event.CustomPatch{Patch: []event.PatchOperation{{Op: "replace", Value: json.RawMessage(`{"a":[1]}`)}}},
		&event.CustomPatch{Patch: []event.PatchOperation{
			{Op: "add", Path: "/a/-", Value: json.RawMessage(`null`)}, {Op: "remove", Path: "/b~1c"},
		}},
		&event.Artifact{ID: "a1", Name: "plan.md", MediaType: "text/markdown", Size: 12},
		&event.Artifact{ID: "a2"},
		&event.ToolCallsOmitted{Omitted: 72, MaxCalls: 128, Message: "72 more calls were not made"},
		&event.RunWaiting{Interactions: []string{"c1", "perm_c2"}},
		&event.RevisionChanged{From: "1f0c", To: "9ab2"},
	}
}

// TestTheJSONOfEvents compares the JSON of all kinds of events with testdata/events.jsonl, which
// UPDATE_GOLDEN=1 rewrites.
func TestTheJSONOfEvents(t *testing.T) {
	golden := filepath.Join("testdata", "events.jsonl")
	var got []byte
	kinds := make(map[event.Type]bool)
	for i, data := range all() {
		kinds[data.Type()] = true
		ev := event.Event{
			Seq: uint64(i + 1), Time: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), TurnID: "t1", SessionID: "s1", Data: data,
		}
		line, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		got = append(append(got, line...), '\n')
	}
	if len(kinds) != kindsOfEvents {
		t.Errorf("%d kinds of events are shown, want all %d", len(kinds), kindsOfEvents)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestAnEventIsOneFlatObject(t *testing.T) {
	for _, data := range all() {
		line, err := json.Marshal(event.Event{Seq: 1, TurnID: "t", Data: data})
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if fields["event_type"] != string(data.Type()) || fields["seq"] != 1.0 || fields["turn_id"] != "t" || fields["time"] == nil {
			t.Errorf("the head of %s is wrong", line)
		}
		if _, ok := fields["session_id"]; ok {
			t.Errorf("%s names no session, yet has one", line)
		}
	}
}

// bare is an event without fields.
type bare struct{}

func (bare) Type() event.Type { return "bare" }

func TestAnEventWithoutFieldsIsItsHead(t *testing.T) {
	line, err := json.Marshal(&event.Event{Seq: 2, TurnID: "t", SessionID: "s", Data: bare{}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"seq":2,"time":"0001-01-01T00:00:00Z","event_type":"bare","turn_id":"t","session_id":"s"}`
	if string(line) != want {
		t.Errorf("the event is %s, want %s", line, want)
	}
}

func TestAnEventWithNilDataHasNoFields(t *testing.T) {
	ev := event.Event{Seq: 1, Data: (*event.TextDelta)(nil)}
	line, err := json.Marshal(ev)
	if want := `{"seq":1,"time":"0001-01-01T00:00:00Z","event_type":"text_delta","turn_id":""}`; err != nil || string(line) != want {
		t.Errorf("the event is %s, %v, want %s", line, err, want)
	}
	if line, err := json.Marshal(event.Event{}); err == nil {
		t.Errorf("the zero event is %s", line)
	}
	if ev = (event.Event{}); ev.Terminal() {
		t.Error("the zero event is terminal")
	}
}

func TestEachEndLeadsToAStatus(t *testing.T) {
	for reason, want := range map[event.Reason]event.Status{
		event.NaturalEnd:        event.StatusSucceeded,
		event.BehaviorRequested: event.StatusSucceeded,
		event.Stopped:           event.StatusSucceeded,
		event.Canceled:          event.StatusCanceled,
		event.Suspended:         event.StatusWaiting,
		event.Blocked:           event.StatusFailed,
		event.Failed:            event.StatusFailed,
		"":                      event.StatusFailed,
		"unknown":               event.StatusFailed,
	} {
		if got := (event.Termination{Type: reason}).Status(); got != want {
			t.Errorf("%q leads to %s, want %s", reason, got, want)
		}
	}
}

func TestOnlyTheFinishIsTerminal(t *testing.T) {
	for _, data := range all() {
		ev := event.Event{Data: data}
		if got, want := ev.Terminal(), data.Type() == event.TypeRunFinish; got != want {
			t.Errorf("%s is terminal: %t", data.Type(), got)
		}
	}
	event.Discard.Emit(event.Event{})
	if ev := (event.Event{Path: []string{"c1"}, Data: new(event.RunFinish)}); ev.Terminal() {
		t.Error("the end of a delegate ends its caller's turn")
	}
}

// A limit cuts a turn short; a condition that marks the work as finished does not.
func TestWhatCutsATurnShort(t *testing.T) {
	t.Parallel()
	for why, want := range map[event.Termination]bool{
		{Type: event.Stopped, Code: "max_rounds"}:         true,
		{Type: event.Stopped, Code: "timeout"}:            true,
		{Type: event.Stopped, Code: "token_budget"}:       true,
		{Type: event.Stopped, Code: "consecutive_errors"}: true,
		{Type: event.Stopped, Code: "loop_detection"}:     true,
		{Type: event.Stopped, Code: "stop_on_tool"}:       false,
		{Type: event.Stopped, Code: "content_match"}:      false,
		{Type: event.NaturalEnd}:                          false,
		{Type: event.BehaviorRequested}:                   false,
		{Type: event.BudgetExceeded, Code: "max_rounds"}:  false,
	} {
		if got := why.CutShort(); got != want {
			t.Errorf("%+v: %t, want %t", why, got, want)
		}
	}
}
