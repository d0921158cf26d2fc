package backend_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// waiting is a turn with one call that has a result and two that wait.
func waiting() *backend.State {
	calls := []model.ToolCall{{ID: "a", Name: "x"}, {ID: "b", Name: "x"}, {ID: "c", Name: "x"}}
	answer := model.Message{Role: model.RoleAssistant}
	for i := range calls {
		answer.Parts = append(answer.Parts, model.Part{Type: model.PartToolCall, ToolCall: &calls[i]})
	}
	return &backend.State{
		Version: backend.StateVersion, Agent: "agent", Messages: []model.Message{answer},
		Calls: []backend.CallState{
			{ID: "a", Outcome: event.CallSucceeded, Result: &model.ToolResult{CallID: "a"}},
			{ID: "b", Outcome: event.CallSuspended, Tickets: []*plugins.Ticket{
				{ID: "perm_b", ResponseSchema: json.RawMessage(`{"type":"object","required":["approved"]}`)},
			}},
			{ID: "c", Outcome: event.CallSuspended, Tickets: []*plugins.Ticket{{ID: "c1"}, {ID: "c2"}}},
		},
	}
}

func yes(target string) plugins.Resolution {
	return plugins.Resolution{Target: target, Action: plugins.ActionResume, Result: json.RawMessage(`{"approved":true}`)}
}

func TestAnAnswerIsTakenByTicketOrByCall(t *testing.T) {
	for _, target := range []string{"b", "perm_b"} {
		s := waiting()
		if err := s.Resolve(yes(target)); err != nil {
			t.Fatal(err)
		}
		if got := s.Calls[1].Resolutions; len(got) != 1 || got[0].Target != "perm_b" {
			t.Errorf("by %s: %+v", target, got)
		}
		if open := s.Tickets(); len(open) != 2 {
			t.Errorf("by %s: %d tickets are open", target, len(open))
		}
		for _, again := range []string{"b", "perm_b"} {
			if err := s.Resolve(yes(again)); err != nil {
				t.Errorf("by %s, then again by %s: %v", target, again, err)
			}
		}
		if len(s.Calls[1].Resolutions) != 1 {
			t.Error("the answer counts twice")
		}
	}
}

func TestAnswersToACallWithSeveralTicketsAreTakenInOrder(t *testing.T) {
	s := waiting()
	for range 2 {
		if err := s.Resolve(yes("c")); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Calls[2].Resolutions; len(got) != 2 || got[0].Target != "c1" || got[1].Target != "c2" {
		t.Errorf("%+v", got)
	}
}

func TestAnAnswerThatDoesNotFitChangesNothing(t *testing.T) {
	for _, tt := range []struct {
		name     string
		give     plugins.Resolution
		problem  string
		conflict bool
	}{
		{"unknown", yes("d"), "waits for", false},
		{"settled", yes("a"), "waits for", false},
		{"no action", plugins.Resolution{Target: "b"}, "allowed are", false},
		{"no result", plugins.Resolution{Target: "b", Action: plugins.ActionResume}, "answer", false},
		{"wrong form", plugins.Resolution{Target: "b", Action: plugins.ActionResume, Result: json.RawMessage(`{}`)}, "approved", false},
		{"no JSON", plugins.Resolution{Target: "c1", Action: plugins.ActionResume, Result: json.RawMessage(`{`)}, "no JSON", false},
		{"arguments", plugins.Resolution{Target: "c1", Action: plugins.ActionResume, Arguments: json.RawMessage(`[]`)}, "no JSON object", false},
	} {
		s, before := waiting(), waiting()
		err := s.Resolve(tt.give)
		if err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if !reflect.DeepEqual(s, before) {
			t.Errorf("%s: it changed something: %+v", tt.name, s)
		}
	}
}

func TestADifferentAnswerIsAConflict(t *testing.T) {
	s := waiting()
	if err := s.Resolve(yes("b")); err != nil {
		t.Fatal(err)
	}
	err := s.Resolve(plugins.Resolution{Target: "b", Action: plugins.ActionCancel})
	if e, ok := errors.AsType[*backend.ResolutionError](err); !ok || !e.Conflict {
		t.Errorf("%v", err)
	}
}

func TestAStateSurvivesItsJSON(t *testing.T) {
	s := waiting()
	if err := s.Resolve(yes("b")); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := backend.DecodeState(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(data) {
		t.Errorf("it comes back as\n%s\nwant\n%s", again, data)
	}
}

func TestAStateThatNoTurnCanBeInIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*backend.State){
		"version":        func(s *backend.State) { s.Version = 2 },
		"no agent":       func(s *backend.State) { s.Agent = "" },
		"steps":          func(s *backend.State) { s.Stats.Steps = -1 },
		"no answer":      func(s *backend.State) { s.Messages = nil },
		"a call less":    func(s *backend.State) { s.Calls = s.Calls[:2] },
		"another call":   func(s *backend.State) { s.Calls[0].ID = "z" },
		"no result":      func(s *backend.State) { s.Calls[0].Result = nil },
		"no ticket":      func(s *backend.State) { s.Calls[1].Tickets = nil },
		"an empty place": func(s *backend.State) { s.Calls[1].Tickets = []*plugins.Ticket{nil} },
	} {
		s := waiting()
		spoil(s)
		if s.Check() == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

func FuzzDecodeState(f *testing.F) {
	data, err := json.Marshal(waiting())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := backend.DecodeState(data)
		if err != nil {
			return
		}
		for _, ticket := range s.Tickets() {
			_ = s.Clone().Resolve(plugins.Resolution{Target: ticket.ID, Action: plugins.ActionCancel})
		}
		if err := s.Check(); err != nil {
			t.Errorf("a state that was taken is refused: %v", err)
		}
	})
}
