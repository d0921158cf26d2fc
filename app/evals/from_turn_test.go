package evals_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service/evalcase"
)

// TestADraftHasNoSecrets hides texts of the answer and the result of a turn, and a number of
// the arguments.
func TestADraftHasNoSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		secrets []string
		passes  bool
	}{{[]string{"efunded", "Let me"}, true}, {[]string{"20"}, false}} { // the number becomes a text
		s := newShop(t, unasked{t})
		file := filepath.Join(t.TempDir(), "turns.yaml")
		draft, err := evalcase.New("hidden", storedTurn(t, s))
		if err != nil {
			t.Fatal(err)
		}
		hide := func(text string) string {
			for _, secret := range c.secrets {
				text = strings.ReplaceAll(text, secret, "${SECRET}")
			}
			return text
		}
		if err := evals.WriteDraft(draft, file, nil, hide); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(file)
		results, err := os.ReadFile(filepath.Join(filepath.Dir(file), "recordings", "hidden.tools.jsonl"))
		if both := string(text) + string(results); err != nil || hide(both) != both {
			t.Errorf("%v\n%s\n%s", err, text, results)
		}
		suite, found, err := evals.Load([]string{file})
		if err != nil || len(found) > 0 {
			t.Fatalf("%v %v\n%s", err, found, text)
		}
		r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite, Redact: hide})
		if passes := r.Status == evals.Passed; passes != c.passes {
			t.Errorf("%s: %q\n%s", r.Status, failures, text)
		}
	}
}

// TestADraftOfAConversationHasItsTurns makes a case of two turns of a session.
func TestADraftOfAConversationHasItsTurns(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	file := filepath.Join(t.TempDir(), "turns.yaml")
	draft, err := evalcase.New("long", storedTurn(t, s), storedTurn(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if err := evals.WriteDraft(draft, file, nil, strings.Clone); err != nil {
		t.Fatal(err)
	}
	suite, found, err := evals.Load([]string{file})
	if err != nil || len(found) > 0 {
		t.Fatalf("%v %v", err, found)
	}
	r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
	if r.Status != evals.Passed || len(r.Turns) != 2 || r.Turns[0].Response != r.Turns[1].Response || len(r.Turns[0].Calls) != 1 {
		t.Errorf("%s: %q: %+v", r.Status, failures, r.Turns)
	}
}

// TestATurnThatDoesNotFitIsRejected checks the reason for each turn that a case cannot repeat.
func TestATurnThatDoesNotFitIsRejected(t *testing.T) {
	t.Parallel()
	user := []model.Message{model.User("hi")}
	ask := func(id string) event.Event {
		return event.Event{Data: &event.InteractionRequest{Request: interaction.Request{ID: id, Tool: "refund"}}}
	}
	resume := func(id, result string) event.Event {
		return event.Event{Data: &event.ToolCallResumed{TargetID: id, Action: string(interaction.Resume), Result: []byte(result)}}
	}
	fail := func(code string) []event.Event {
		return []event.Event{{Data: &event.StepStart{}}, {Data: &event.RunFinish{Termination: event.Termination{Type: event.Failed, Code: code}}}}
	}
	done := &evalcase.Turn{AgentID: "clerk", Status: event.StatusSucceeded, Input: user}
	for reason, turns := range map[string][]*evalcase.Turn{
		"there is no turn":               nil,
		"a part of type image":           {{AgentID: "clerk", Input: []model.Message{{Role: model.RoleUser, Parts: []model.Part{model.File(&model.Blob{MediaType: "image/png"})}}}}},
		"a message of role system":       {{AgentID: "clerk", Input: []model.Message{model.System("x")}}},
		"was canceled":                   {{AgentID: "clerk", Status: event.StatusCanceled, Input: user}},
		"turn 1 of its session ended as": {{AgentID: "clerk", Status: event.StatusFailed, Input: user}, done},
		"was for agent helper":           {done, {AgentID: "helper", Status: event.StatusSucceeded, Input: user}},
		"answered in two ways":           {{AgentID: "clerk", Status: event.StatusSucceeded, Input: user, Events: []event.Event{ask("a"), resume("a", `{"approved":true}`), ask("b"), resume("b", `{"approved":false}`)}}},
		"failed by error:internal":       {{AgentID: "clerk", Status: event.StatusFailed, Input: user, Events: fail("internal")}},
		"":                               {{AgentID: "clerk", Status: event.StatusFailed, Input: user, Events: fail("overloaded")}},
	} {
		_, err := evalcase.New("x", turns...)
		if unfit, ok := errors.AsType[*evalcase.Error](err); ok != (reason != "") || ok && !strings.Contains(unfit.Reason, reason) {
			t.Errorf("%q: %v", reason, err)
		}
	}
}

// TestNoFileOfASuiteGetsAnIDTwice adds a case whose ID is in another file of the suite.
func TestNoFileOfASuiteGetsAnIDTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(other, []byte("version: 1\ncases: {FIRST: {agent: a, turns: [{prompt: x}]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	draft, err := evalcase.New("first", storedTurn(t, newShop(t, unasked{t})))
	if err != nil {
		t.Fatal(err)
	}
	if err := evals.WriteDraft(draft, filepath.Join(dir, "turns.yaml"), []string{other}, strings.Clone); !errors.Is(err, evals.ErrCaseExists) {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"", "../x", "a: {b", "a b"} {
		if _, err := evalcase.New(id, storedTurn(t, newShop(t, unasked{t}))); err == nil {
			t.Errorf("%q is the ID of a case", id)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v: an error left files: %v", err, files)
	}
}
