package backend_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
)

// waiting is a turn with one finished call and two waiting calls.
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
			{ID: "b", Outcome: event.CallSuspended, Interactions: []*backend.Interaction{
				{Request: interaction.Request{ID: "perm_b", ResponseSchema: json.RawMessage(`{"type":"object","required":["approved"]}`)}},
			}},
			{ID: "c", Outcome: event.CallSuspended, Interactions: []*backend.Interaction{{Request: interaction.Request{ID: "c1"}}, {Request: interaction.Request{ID: "c2"}}}},
		},
	}
}

func yes(target string) interaction.Answer {
	return interaction.Answer{Target: target, Action: interaction.Resume, Result: json.RawMessage(`{"approved":true}`)}
}

func TestAnAnswerIsTakenByInteractionOrByCall(t *testing.T) {
	for _, target := range []string{"b", "perm_b"} {
		s := waiting()
		if err := s.Answer(yes(target)); err != nil {
			t.Fatal(err)
		}
		if got := s.Calls[1].Answers; len(got) != 1 || got[0].Target != "perm_b" {
			t.Errorf("by %s: %+v", target, got)
		}
		if open := s.Interactions(); len(open) != 2 {
			t.Errorf("by %s: %d interactions are open", target, len(open))
		}
		for _, again := range []string{"b", "perm_b"} {
			if err := s.Answer(yes(again)); err != nil {
				t.Errorf("by %s, then again by %s: %v", target, again, err)
			}
		}
		if len(s.Calls[1].Answers) != 1 {
			t.Error("the answer counts twice")
		}
	}
}

func TestAnswersToACallWithSeveralInteractionsAreTakenInOrder(t *testing.T) {
	s := waiting()
	for range 2 {
		if err := s.Answer(yes("c")); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Calls[2].Answers; len(got) != 2 || got[0].Target != "c1" || got[1].Target != "c2" {
		t.Errorf("%+v", got)
	}
}

func TestAnAnswerThatDoesNotFitChangesNothing(t *testing.T) {
	for _, tt := range []struct {
		name     string
		give     interaction.Answer
		problem  string
		conflict bool
	}{
		{"unknown", yes("d"), "waiting for", false},
		{"settled", yes("a"), "waiting for", false},
		{"no action", interaction.Answer{Target: "b"}, "allowed are", false},
		{"no result", interaction.Answer{Target: "b", Action: interaction.Resume}, "answer", false},
		{"wrong form", interaction.Answer{Target: "b", Action: interaction.Resume, Result: json.RawMessage(`{}`)}, "approved", false},
		{"no JSON", interaction.Answer{Target: "c1", Action: interaction.Resume, Result: json.RawMessage(`{`)}, "not JSON", false},
		{"arguments", interaction.Answer{Target: "c1", Action: interaction.Resume, Arguments: json.RawMessage(`[]`)}, "not a JSON object", false},
	} {
		s, before := waiting(), waiting()
		err := s.Answer(tt.give)
		if err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if !reflect.DeepEqual(s, before) {
			t.Errorf("%s: it changed something: %+v", tt.name, s)
		}
	}
}

func TestAMessageOfTheUserComesWithAnAnswer(t *testing.T) {
	with := func(message string) interaction.Answer {
		a := yes("b")
		a.Message = json.RawMessage(message)
		return a
	}
	hello := `{"role":"user","parts":[{"type":"text","text":"hello"}]}`
	s := waiting()
	for range 2 { // the second time it is known
		if err := s.Answer(with(hello)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Said) != 1 || s.Said[0].Text() != "hello" || len(s.Calls[1].Answers[0].Message) > 0 {
		t.Errorf("%+v", s)
	}
	if err := s.Answer(with(strings.Replace(hello, "hello", "bye", 1))); err == nil {
		t.Error("another message is taken for the same answer")
	}
	for name, message := range map[string]string{
		"no JSON": `{`, "the model's": `{"role":"assistant","parts":[{"type":"text","text":"x"}]}`, "empty": `{"role":"user"}`,
		"with a call": `{"role":"user","parts":[{"type":"tool_call","tool_call":{"id":"a","name":"x"}}]}`, "hollow": `{"role":"user","parts":[{"type":"image"}]}`,
	} {
		s, before := waiting(), waiting()
		if _, refused := errors.AsType[*interaction.AnswerError](s.Answer(with(message))); !refused || !reflect.DeepEqual(s, before) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	s = waiting()
	s.Hosted = json.RawMessage(`{}`)
	if err := s.Answer(with(hello)); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a loop that runs elsewhere: %v", err)
	}
}

func TestADifferentAnswerIsAConflict(t *testing.T) {
	s := waiting()
	if err := s.Answer(yes("b")); err != nil {
		t.Fatal(err)
	}
	err := s.Answer(interaction.Answer{Target: "b", Action: interaction.Cancel})
	if e, ok := errors.AsType[*interaction.AnswerError](err); !ok || !e.Conflict {
		t.Errorf("%v", err)
	}
}

func TestAStateSurvivesItsJSON(t *testing.T) {
	s := waiting()
	if err := s.Answer(yes("b")); err != nil {
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
		"no interaction": func(s *backend.State) { s.Calls[1].Interactions = nil },
		"an empty place": func(s *backend.State) { s.Calls[1].Interactions = []*backend.Interaction{nil} },
	} {
		s := waiting()
		spoil(s)
		if s.Check() == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// A state whose messages and journal are stored separately must pass the same checks.
func TestAStateIsRestoredFromItsParts(t *testing.T) {
	whole := begun()
	journal := []backend.Recorded{{Entry: whole.Journal[0], Result: &model.ToolResult{CallID: "x", Name: "x"}}}
	journal[0].Entry.Outcome = event.CallSucceeded
	journal[0].Entry.After = &backend.Aftermath{Handoff: "b"}
	bare := begun()
	bare.Messages, bare.Journal = nil, nil
	data, err := json.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	got, err := backend.RestoreState(data, whole.Messages, journal)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Calls[0]; c.Outcome != event.CallSucceeded || c.Result == nil || got.Handoff != "b" || got.Journal[0].After != nil {
		t.Errorf("it is %+v", got)
	}
	for name, spoil := range map[string]func(*backend.State){
		"version":        func(s *backend.State) { s.Version = 2 },
		"no agent":       func(s *backend.State) { s.Agent = "" },
		"another call":   func(s *backend.State) { s.Calls[0].ID = "z" },
		"no interaction": func(s *backend.State) { s.Calls[1].Outcome = event.CallSuspended },
		"an empty place": func(s *backend.State) {
			s.Calls[1] = backend.CallState{ID: "y", Outcome: event.CallSuspended, Interactions: []*backend.Interaction{nil}}
		},
	} {
		s := begun()
		spoil(s)
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := backend.RestoreState(data, s.Messages, nil); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	if _, err := backend.RestoreState(data, nil, journal); err == nil {
		t.Error("a state without the answer that its calls are of is taken")
	}
	if _, err := backend.RestoreState([]byte("{"), nil, nil); err == nil {
		t.Error("what is no JSON is taken")
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
		for _, request := range s.Interactions() {
			_ = s.Clone().Answer(interaction.Answer{Target: request.ID, Action: interaction.Cancel})
		}
		if err := s.Check(); err != nil {
			t.Errorf("a state that was taken is refused: %v", err)
		}
	})
}
