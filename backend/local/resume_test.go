package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// through returns a state after a round trip through storage.
func through(t *testing.T, s *backend.State) *backend.State {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := backend.DecodeState(data)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// goesOn continues a turn from a state with answers.
func (s stage) goesOn(t *testing.T, state *backend.State, answers ...interaction.Answer) scene {
	t.Helper()
	state = through(t, state)
	for _, r := range answers {
		if err := state.Answer(r); err != nil {
			t.Fatal(err)
		}
	}
	change := s.job
	s.job = func(j *backend.Job) {
		if change != nil {
			change(j)
		}
		j.State = state
		j.Meter = backend.NewMeter(nil, state.Budgets, state.Spent)
	}
	return s.play(t)
}

func resume(target, result string) interaction.Answer {
	return interaction.Answer{Target: target, Action: interaction.Resume, Result: json.RawMessage(result)}
}

// asksFor is a gate that makes calls of one tool wait for an answer.
func asksFor(tool string, mode interaction.Mode) plugin {
	return gate(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
		if p.Call.Name != tool || p.InteractionAnswer != nil {
			return plugins.Decision{}, nil
		}
		return plugins.Decision{Kind: plugins.Suspend, Interaction: &interaction.Request{ID: "ticket_" + p.Call.ID, Message: "may I?", Mode: mode}}, nil
	})
}

// echo returns the arguments and the received answers.
var echo = does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
	text := string(c.Arguments)
	if c.Resumed != nil {
		data, err := json.Marshal(c.Resumed)
		if err != nil {
			return tools.Result{}, err
		}
		text += " " + string(data)
	}
	return tools.TextResult(text), nil
})

func TestEachResumeModeDoesWhatItSays(t *testing.T) {
	for _, tt := range []struct {
		mode   interaction.Mode
		answer interaction.Answer
		want   string
	}{
		{interaction.ReplayToolCall, resume("ticket_x", `true`), "x {}"},
		{"", resume("x", `true`), "x {}"},
		{interaction.UseDecisionAsToolResult, resume("ticket_x", `"as told"`), "x as told"},
		{interaction.UseDecisionAsToolResult, resume("ticket_x", `{"a":1}`), `x {"a":1}`},
		{interaction.PassDecisionToTool, resume("ticket_x", `5`), `x {} {"answers":[{"target":"","action":"resume","result":5}]}`},
		{interaction.ReplayToolCall, interaction.Answer{Target: "x", Action: interaction.Cancel, Reason: "not today"}, "x! the call was refused: not today"},
	} {
		s := stage{
			model:   says(asks("", call("x")), text("done")),
			tools:   map[string]tools.Tool{"x": echo},
			plugins: []plugin{asksFor("x", tt.mode)},
		}
		first := s.play(t)
		if first.Termination.Type != event.Suspended || len(first.Interactions) != 1 || first.State == nil {
			t.Fatalf("%s: the turn ended by %+v with %d interactions", tt.mode, first.Termination, len(first.Interactions))
		}
		second := s.goesOn(t, first.State, tt.answer)
		second.ends(t, event.NaturalEnd, "")
		if got := second.results(); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: the results are %q, want %q", tt.mode, got, tt.want)
		}
		if second.Steps != 2 || second.Response != "done" {
			t.Errorf("%s: %d steps, response %q", tt.mode, second.Steps, second.Response)
		}
	}
}

func TestSeveralCallsWaitAtOnceAndAreAnsweredInAnyOrder(t *testing.T) {
	s := stage{
		model:   says(asks("", call("x"), callWith("x2", "x", `{"n":2}`), call("y")), text("done")),
		tools:   map[string]tools.Tool{"x": echo, "y": answers("at once")},
		plugins: []plugin{asksFor("x", interaction.ReplayToolCall)},
	}
	first := s.play(t)
	if len(first.Interactions) != 2 {
		t.Fatalf("%d interactions", len(first.Interactions))
	}
	if got := first.done(); !slices.Equal(got, []string{"y succeeded at once"}) {
		t.Errorf("what does not wait is done: %q", got)
	}
	second := s.goesOn(t, first.State, resume("x2", `true`))
	if second.Termination.Type != event.Suspended || len(second.Interactions) != 1 || second.Interactions[0].CallID != "x" {
		t.Fatalf("after one answer: %+v, %d interactions", second.Termination, len(second.Interactions))
	}
	if len(s.model.requests) != 1 {
		t.Errorf("the model was asked although a call waits")
	}
	third := s.goesOn(t, second.State, resume("x", `true`))
	third.ends(t, event.NaturalEnd, "")
	if got, want := third.results(), []string{"x {}", `x2 {"n":2}`, "y at once"}; !slices.Equal(got, want) {
		t.Errorf("the results are %q, want %q", got, want)
	}
}

func TestInASequenceCallsBehindOneThatWaitsRunWhenItIsAnswered(t *testing.T) {
	s := stage{
		agent:   spec.Agent{ToolExecution: spec.Sequential},
		model:   says(asks("", call("a"), call("x"), call("b")), text("done")),
		tools:   map[string]tools.Tool{"a": answers("1"), "x": answers("2"), "b": answers("3")},
		plugins: []plugin{asksFor("x", interaction.ReplayToolCall)},
	}
	first := s.play(t)
	if got := first.done(); !slices.Equal(got, []string{"a succeeded 1"}) {
		t.Errorf("before the wait: %q", got)
	}
	second := s.goesOn(t, first.State, resume("x", `true`))
	second.ends(t, event.NaturalEnd, "")
	if got := second.done(); !slices.Equal(got, []string{"x succeeded 2", "b succeeded 3"}) {
		t.Errorf("a resumed call and a fresh one in one step: %q", got)
	}
}

func TestEditedArgumentsAreJudgedAndUsed(t *testing.T) {
	var judged []string
	s := stage{
		model: says(asks("", callWith("x", "x", `{"n":1}`)), text("done")),
		tools: map[string]tools.Tool{"x": echo},
		plugins: []plugin{asksFor("x", interaction.ReplayToolCall), gate(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
			judged = append(judged, string(p.Call.Arguments))
			return plugins.Decision{}, nil
		})},
	}
	first := s.play(t)
	answer := resume("x", `true`)
	answer.Arguments = json.RawMessage(`{"n":2}`)
	second := s.goesOn(t, first.State, answer)
	if got := second.results(); len(got) != 1 || !strings.HasPrefix(got[0], "x [A person changed the arguments") || !strings.HasSuffix(got[0], `{"n":2}`) {
		t.Errorf("the results are %q", got)
	}
	if want := []string{`{"n":1}`, `{"n":2}`}; !slices.Equal(judged, want) {
		t.Errorf("the gates judged %q, want %q", judged, want)
	}
}

func TestARuleThatChangedHoldsForACallThatIsResumed(t *testing.T) {
	refuse := false
	s := stage{
		model: says(asks("", call("x")), text("done")),
		tools: map[string]tools.Tool{"x": echo},
		plugins: []plugin{asksFor("x", interaction.ReplayToolCall), gate(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
			if refuse {
				return plugins.Decision{Kind: plugins.Block, Reason: "no more"}, nil
			}
			return plugins.Decision{}, nil
		})},
	}
	first := s.play(t)
	refuse = true
	second := s.goesOn(t, first.State, resume("x", `true`))
	if got := second.results(); !slices.Equal(got, []string{"x! no more"}) {
		t.Errorf("the results are %q", got)
	}
}

func TestAToolThatWaitsGoesOnFromWhatItLeft(t *testing.T) {
	waits := does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
		if c.Resumed == nil {
			return tools.Result{Wait: &tools.Wait{
				Questions: []interaction.Request{{ID: "q1", Message: "how many?"}, {ID: "q2"}}, State: json.RawMessage(`"left"`),
			}}, nil
		}
		data, err := json.Marshal(c.Resumed)
		return tools.TextResult(string(data)), err
	})
	s := stage{model: says(asks("", call("w")), text("done")), tools: map[string]tools.Tool{"w": waits}}
	first := s.play(t)
	if len(first.Interactions) != 2 || first.Interactions[0].Message != "how many?" {
		t.Fatalf("the interactions are %+v", first.Interactions)
	}
	second := s.goesOn(t, first.State, resume("q2", `7`))
	second.ends(t, event.NaturalEnd, "")
	if got, want := second.results(), `w {"answers":[{"target":"q2","action":"resume","result":7}],"state":"left"}`; !slices.Equal(got, []string{want}) {
		t.Errorf("the results are %q, want %q", got, want)
	}
}

func TestTheAnswerToAToolThatWaitsCanBeItsResult(t *testing.T) {
	client := does(func(context.Context, *tools.Call) (tools.Result, error) {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{}}, AnswerIsResult: true}}, nil
	})
	s := stage{model: says(asks("", call("c")), text("done")), tools: map[string]tools.Tool{"c": client}}
	first := s.play(t)
	second := s.goesOn(t, first.State, resume("c", `"from the client"`))
	if got := second.results(); !slices.Equal(got, []string{"c from the client"}) {
		t.Errorf("the results are %q", got)
	}
}

func TestWhatAQuestionDoesNotSayIsThatOfItsCall(t *testing.T) {
	for name, tt := range map[string]struct {
		question  interaction.Request
		tool      string
		arguments string
	}{
		"nothing said":   {interaction.Request{}, "w", `{}`},
		"a tool alone":   {interaction.Request{Tool: "other"}, "other", `{}`},
		"arguments only": {interaction.Request{Arguments: json.RawMessage(`{"n":1}`)}, "w", `{"n":1}`},
		"both":           {interaction.Request{Tool: "other", Arguments: json.RawMessage(`{"n":1}`)}, "other", `{"n":1}`},
	} {
		waits := does(func(context.Context, *tools.Call) (tools.Result, error) {
			return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{tt.question}}}, nil
		})
		s := stage{model: says(asks("", call("w")), text("done")), tools: map[string]tools.Tool{"w": waits}}
		got := s.play(t)
		if len(got.Interactions) != 1 || got.Interactions[0].Tool != tt.tool || string(got.Interactions[0].Arguments) != tt.arguments {
			t.Errorf("%s: the interactions are %+v", name, got.Interactions)
		}
	}
}

func TestALateAnswerIsNotTakenForOneToALaterCall(t *testing.T) {
	s := stage{
		model:   says(asks("", call("x")), asks("", call("x")), text("done")),
		tools:   map[string]tools.Tool{"x": echo},
		plugins: []plugin{asksFor("x", interaction.ReplayToolCall)},
	}
	first := s.play(t)
	second := s.goesOn(t, first.State, resume("ticket_x", `true`))
	if len(second.Interactions) != 1 || second.Interactions[0].ID == "ticket_x" {
		t.Fatalf("the second call waits for %+v", second.Interactions)
	}
	state := through(t, second.State)
	if err := state.Answer(resume("ticket_x", `true`)); err != nil {
		t.Errorf("the late answer: %v", err)
	}
	if len(state.Interactions()) != 1 {
		t.Error("the late answer was taken for the second call")
	}
}

func TestATurnThatIsGivenUpWhileItWaitsGivesEveryCallAResult(t *testing.T) {
	s := stage{
		model:   says(asks("", call("x"))),
		tools:   map[string]tools.Tool{"x": echo},
		plugins: []plugin{asksFor("x", interaction.ReplayToolCall)},
	}
	first := s.play(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.job = func(j *backend.Job) { j.State = first.State }
	second := s.playIn(ctx, t)
	if second.Termination.Type != event.Canceled || !errors.Is(second.err, context.Canceled) {
		t.Errorf("it ended by %+v, %v", second.Termination, second.err)
	}
	second.checkWhole(t)
	if got := second.results(); len(got) != 1 {
		t.Errorf("the results are %q", got)
	}
}

func TestATurnStopsBetweenStepsAndGoesOn(t *testing.T) {
	replies := []reply{asks("hm", call("x")), asks("", call("x")), text("done")}
	whole := stage{model: says(replies...), tools: map[string]tools.Tool{"x": echo}}.play(t)
	for stopAt := 1; stopAt <= 2; stopAt++ {
		s := stage{model: says(replies...), tools: map[string]tools.Tool{"x": echo}}
		steps := 0
		s.job = func(j *backend.Job) {
			j.Checkpoint = func(context.Context, *backend.State) error {
				if steps++; steps == stopAt {
					return backend.ErrYield
				}
				return nil
			}
		}
		first := s.play(t)
		if !errors.Is(first.err, backend.ErrYield) || first.State == nil {
			t.Fatalf("after step %d: %v", stopAt, first.err)
		}
		second := s.goesOn(t, first.State)
		second.ends(t, event.NaturalEnd, "")
		if got, want := mustJSON(t, second.Messages), mustJSON(t, whole.Messages); got != want {
			t.Errorf("stopped after step %d the turn comes to\n%s\nwant\n%s", stopAt, got, want)
		}
		if second.Steps != whole.Steps || second.Usage != whole.Usage || len(second.Journal) != len(whole.Journal) {
			t.Errorf("stopped after step %d: %d steps, %+v, %d calls", stopAt, second.Steps, second.Usage, len(second.Journal))
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAStateOfAnotherAgentIsRefused(t *testing.T) {
	s := stage{model: says()}
	s.job = func(j *backend.Job) { j.State = &backend.State{Version: backend.StateVersion, Agent: "other"} }
	if got := s.play(t); got.err == nil || !strings.Contains(got.err.Error(), "other") {
		t.Errorf("%v", got.err)
	}
}
