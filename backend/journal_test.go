package backend_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

// begun is a state in the middle of a step of two calls, of which x is about to
// begin.
func begun() *backend.State {
	s := &backend.State{
		Version: backend.StateVersion, Agent: "a", InStep: true,
		Messages: []model.Message{{Role: model.RoleAssistant, Parts: []model.Part{
			{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "x", Name: "x"}},
			{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "y", Name: "y"}},
		}}},
		Calls:   []backend.CallState{{ID: "x", Decided: true}, {ID: "y"}},
		Journal: []backend.JournalEntry{{Step: 1, CallID: "x", Tool: "x", Effect: tools.Once, IdempotencyKey: "t/1/x", Began: time.Unix(1, 0)}},
	}
	s.Stats.Steps = 1
	return s
}

func TestARecordedOutcomeIsPutIntoTheState(t *testing.T) {
	s := begun()
	entry := s.Journal[0]
	entry.Outcome, entry.Duration = event.CallSucceeded, time.Second
	entry.After = &backend.Aftermath{
		Handoff: "b", Usage: model.Usage{Input: 3, Output: 4}, Cost: 0.5, Currency: "EUR",
		Session: &backend.SessionState{Version: 2, Custom: json.RawMessage(`{"n":2}`), Artifacts: []tools.Artifact{{ID: "a1"}}},
	}
	result := &model.ToolResult{CallID: "x", Name: "x", Content: []model.Part{model.Text("did it")}}
	s.Record(entry, result)
	older := entry
	older.After = &backend.Aftermath{Session: &backend.SessionState{Version: 1}}
	s.Record(older, nil) // the call already has a result
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if c := s.Calls[0]; c.Outcome != event.CallSucceeded || c.Result != result || !c.Decided {
		t.Errorf("the call is %+v", c)
	}
	if e := s.Journal[0]; e.Outcome != event.CallSucceeded || e.Duration != time.Second || e.After != nil {
		t.Errorf("the entry is %+v", e)
	}
	if s.Handoff != "b" || s.Stats.Usage.Total() != 7 || s.Spent.Tokens != 7 || s.Stats.Cost != 0.5 || s.Spent.Cost != 0.5 || s.Stats.Currency != "EUR" {
		t.Errorf("the state is %+v", s)
	}
	if string(s.Custom) != `{"n":2}` || len(s.Artifacts) != 1 || s.SessionState.Version != 2 {
		t.Errorf("the session is %+v", s.SessionState)
	}
}

func TestWhatDoesNotBelongToTheStateIsNotRecorded(t *testing.T) {
	for name, change := range map[string]func(*backend.JournalEntry){
		"an unknown call":              func(e *backend.JournalEntry) { e.CallID, e.IdempotencyKey = "z", "t/1/z" },
		"a call that was not to begin": func(e *backend.JournalEntry) { e.CallID, e.IdempotencyKey = "y", "t/1/y" },
		"a call of another step":       func(e *backend.JournalEntry) { e.Step, e.IdempotencyKey = 2, "t/2/x" },
		"a call without outcome":       func(e *backend.JournalEntry) { e.Outcome = "" },
		"an earlier time of the call":  func(e *backend.JournalEntry) { e.Began = time.Unix(0, 0) },
	} {
		s := begun()
		entry := s.Journal[0]
		entry.Outcome = event.CallFailed
		change(&entry)
		s.Record(entry, &model.ToolResult{})
		if diff := cmp.Diff(begun(), s); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAStateInTheMiddleOfAStepHasCalls(t *testing.T) {
	s := begun()
	s.Calls = nil
	if err := s.Check(); err == nil {
		t.Error("a step without calls is gone on with")
	}
}
