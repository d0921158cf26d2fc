package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

func TestEachBudgetEndsTheTurnByItsOwnReason(t *testing.T) {
	for _, tt := range []struct {
		budgets spec.Budgets
		code    string
		steps   int
	}{
		{spec.Budgets{MaxTokens: new(20)}, backend.BudgetTokens, 2},
		{spec.Budgets{MaxCost: new(0.00003)}, backend.BudgetCost, 2},
		{spec.Budgets{MaxModelCalls: new(2)}, backend.BudgetModelCalls, 3},
		{spec.Budgets{MaxToolCalls: new(1)}, backend.BudgetToolCalls, 2},
		{spec.Budgets{MaxToolCalls: new(0)}, backend.BudgetToolCalls, 1},
	} {
		s := stage{
			agent: spec.Agent{Budgets: &tt.budgets},
			model: says(asks("a", call("x")), asks("b", call("x")), asks("c", call("x")), text("done")),
			tools: map[string]tools.Tool{"x": echo},
			job: func(j *backend.Job) {
				j.Local.ModelID, j.Local.Pricing = "m", map[string]*spec.Pricing{"m": {InputPerMillion: 1, OutputPerMillion: 2}}
			},
		}
		got := s.play(t)
		got.checkWhole(t)
		if got.Termination.Type != event.BudgetExceeded || got.Termination.Code != tt.code || got.Steps != tt.steps {
			t.Errorf("%s: ended by %+v after %d steps, want %d", tt.code, got.Termination, got.Steps, tt.steps)
		}
		if e, ok := errors.AsType[*backend.BudgetError](got.err); !ok || e.Budget != tt.code {
			t.Errorf("%s: the error is %v", tt.code, got.err)
		}
		if got.Response == "" {
			t.Errorf("%s: what was said is lost", tt.code)
		}
	}
}

func TestAFinalAnswerIsNotRefusedForItsTokens(t *testing.T) {
	got := stage{agent: spec.Agent{Budgets: &spec.Budgets{MaxTokens: new(1)}}, model: says(text("done"))}.play(t)
	got.ends(t, event.NaturalEnd, "")
}

func TestTheTimeOfATurnIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := does(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		})
		s := stage{
			agent: spec.Agent{Budgets: &spec.Budgets{MaxDuration: new(spec.Duration(time.Second))}},
			model: says(asks("", call("x"))), tools: map[string]tools.Tool{"x": slow},
		}
		begun := time.Now()
		got := s.play(t)
		if got.Termination.Type != event.BudgetExceeded || got.Termination.Code != backend.BudgetDuration {
			t.Errorf("ended by %+v", got.Termination)
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %s", took)
		}
		got.checkWhole(t)
	})
}

func TestCountersSurviveAStop(t *testing.T) {
	s := stage{
		agent: spec.Agent{Budgets: &spec.Budgets{MaxModelCalls: new(2)}, MaxRounds: new(0)},
		model: says(asks("", call("x")), asks("", call("x")), asks("", call("x"))),
		tools: map[string]tools.Tool{"x": echo},
		job: func(j *backend.Job) {
			j.Checkpoint = func(context.Context, *backend.State) error { return backend.ErrYield }
		},
	}
	got := s.play(t)
	for i := 0; errors.Is(got.err, backend.ErrYield) && i < 5; i++ {
		got = s.goesOn(t, got.State)
	}
	if got.Termination.Code != backend.BudgetModelCalls || len(s.model.requests) != 2 {
		t.Errorf("ended by %+v after %d requests", got.Termination, len(s.model.requests))
	}
}

func TestARoundLimitHoldsOverStops(t *testing.T) {
	s := stage{
		agent: spec.Agent{MaxRounds: new(2)},
		model: says(asks("", call("x")), asks("", call("x")), asks("", call("x"))),
		tools: map[string]tools.Tool{"x": echo},
		job: func(j *backend.Job) {
			j.Checkpoint = func(context.Context, *backend.State) error { return backend.ErrYield }
		},
	}
	got := s.play(t)
	for i := 0; errors.Is(got.err, backend.ErrYield) && i < 5; i++ {
		got = s.goesOn(t, got.State)
	}
	got.ends(t, event.Stopped, "max_rounds")
}

// cutOff replies with a text, or an incomplete call, that the output limit cut
// off.
func cutOff(text, arguments string) reply {
	var events []model.Event
	if text != "" {
		events = append(events, model.Event{Type: model.EventText, Delta: text})
	}
	if arguments != "" {
		events = append(events, model.Event{Type: model.EventToolCallStart, ID: "x", Name: "x"}, model.Event{Type: model.EventToolCallDelta, Delta: arguments})
	}
	return streams(append(events, model.Event{Type: model.EventFinish, Reason: model.FinishMaxTokens, Usage: &usage})...)
}

func TestAnAnswerThatWasCutOffIsContinued(t *testing.T) {
	for name, tt := range map[string]struct {
		agent    spec.Agent
		replies  []reply
		response string
		asked    int
		reason   model.FinishReason
	}{
		"once":         {spec.Agent{}, []reply{cutOff("one ", ""), text("two")}, "one two", 2, model.FinishStop},
		"twice":        {spec.Agent{}, []reply{cutOff("1", ""), cutOff("2", ""), text("3")}, "123", 3, model.FinishStop},
		"no more":      {spec.Agent{}, []reply{cutOff("1", ""), cutOff("2", ""), cutOff("3", "")}, "123", 3, model.FinishMaxTokens},
		"never":        {spec.Agent{MaxContinuationRetries: new(0)}, []reply{cutOff("1", "")}, "1", 1, model.FinishMaxTokens},
		"a call":       {spec.Agent{}, []reply{cutOff("hm ", `{"a":`), asks("", call("x")), text("done")}, "done", 3, model.FinishStop},
		"a bare call":  {spec.Agent{}, []reply{cutOff("", `{"a":`), asks("", call("x")), text("done")}, "done", 3, model.FinishStop},
		"whole, later": {spec.Agent{}, []reply{asks("", call("x")), cutOff("1", ""), text("2")}, "12", 3, model.FinishStop},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage{agent: tt.agent, model: says(tt.replies...), tools: map[string]tools.Tool{"x": echo}}
			got := s.play(t)
			got.ends(t, event.NaturalEnd, "")
			if got.Response != tt.response || len(s.model.requests) != tt.asked || got.FinishReason != tt.reason {
				t.Errorf("response %q after %d requests, %s", got.Response, len(s.model.requests), got.FinishReason)
			}
			if last := got.Messages[len(got.Messages)-1]; last.Text() != tt.response {
				t.Errorf("the conversation keeps %q", last.Text())
			}
		})
	}
}

func TestAnAnswerThatStaysCutOffMayFailTheTurn(t *testing.T) {
	for name, tt := range map[string]struct {
		agent    spec.Agent
		replies  []reply
		form     bool
		code     model.ErrorClass
		response string
	}{
		"at once":           {spec.Agent{MaxContinuationRetries: new(0)}, []reply{cutOff("half", "")}, false, model.Truncated, "half"},
		"in the end":        {spec.Agent{}, []reply{cutOff("1", ""), cutOff("2", ""), cutOff("3", "")}, false, model.Truncated, "123"},
		"continued":         {spec.Agent{}, []reply{cutOff("1", ""), text("2")}, false, "", "12"},
		"with nothing said": {spec.Agent{MaxContinuationRetries: new(0)}, []reply{cutOff("", `{"a":`)}, false, model.Truncated, ""},
		"after its form":    {spec.Agent{}, []reply{cutOff(`{"a":1}`, "")}, true, model.Truncated, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			tt.agent.OnTruncation = spec.TruncationFails
			s := stage{agent: tt.agent, model: says(tt.replies...), tools: map[string]tools.Tool{"x": echo}}
			if tt.form {
				s.job = mustAnswer(t)
			}
			got := s.play(t)
			if tt.code == "" {
				got.ends(t, event.NaturalEnd, "")
			} else {
				got.ends(t, event.Failed, string(tt.code))
			}
			if got.Response != tt.response {
				t.Errorf("it came to %q", got.Response)
			}
		})
	}
}

func TestWhatAContinuedAnswerIsToldStaysOutOfTheConversation(t *testing.T) {
	s := stage{model: says(cutOff("one ", ""), text("two"))}
	got := s.play(t)
	asked := s.model.requests[1].Messages
	if n := len(asked); n != 3 || asked[1].Text() != "one " || asked[2].Role != model.RoleUser {
		t.Errorf("it was asked with %s", mustJSON(t, asked))
	}
	if len(got.Messages) != 1 {
		t.Errorf("the conversation keeps %s", mustJSON(t, got.Messages))
	}
}

var outputForm = &spec.OutputSchema{Schema: []byte(`{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}`)}

// mustAnswer requires a schema for a turn's answer.
func mustAnswer(t *testing.T) func(*backend.Job) {
	return func(j *backend.Job) {
		form, err := backend.NewOutputForm(outputForm)
		if err != nil {
			t.Fatal(err)
		}
		j.Local.Output = form
	}
}

func TestAnAnswerIsAskedForAgainOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		replies  []reply
		code     string
		response string
		asked    int
	}{
		"right":             {[]reply{text(`{"a":1}`)}, "", `{"a":1}`, 1},
		"right, fenced":     {[]reply{text("```json\n{\"a\":1}\n```")}, "", `{"a":1}`, 1},
		"repaired":          {[]reply{text("a is 1"), text(`{"a":1}`)}, "", `{"a":1}`, 2},
		"never right":       {[]reply{text("a is 1"), text(`{"a":"1"}`)}, string(model.InvalidOutput), `{"a":"1"}`, 2},
		"cut off":           {[]reply{cutOff(`{"a":`, "")}, string(model.Truncated), `{"a":`, 1},
		"repaired, cut off": {[]reply{text(`1`), cutOff(`{"a":`, "")}, string(model.Truncated), `{"a":`, 2},
		"tools first":       {[]reply{asks("", call("x")), text(`{"a":1}`)}, "", `{"a":1}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage{model: says(tt.replies...), tools: map[string]tools.Tool{"x": echo}, job: mustAnswer(t)}
			got := s.play(t)
			if tt.code == "" {
				got.ends(t, event.NaturalEnd, "")
			} else {
				got.ends(t, event.Failed, tt.code)
			}
			if got.Response != tt.response || len(s.model.requests) != tt.asked {
				t.Errorf("response %q after %d requests", got.Response, len(s.model.requests))
			}
			for i := range s.model.requests {
				if s.model.requests[i].Output == nil {
					t.Errorf("request %d does not ask for the form", i+1)
				}
			}
			if tt.asked == 2 && strings.HasPrefix(name, "repaired") && s.model.requests[1].ToolChoice.Mode != model.ToolsNone {
				t.Error("the repair may call tools")
			}
		})
	}
}

func TestAnAnswerMayHaveAnotherFormInTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		schema   string
		replies  []reply
		response string
		asked    int
	}{
		"right":                 {`{"type":"object"}`, []reply{text("```json\n{}\n```")}, `{}`, 1},
		"repaired":              {`{"type":"object"}`, []reply{text("no"), text(`{}`)}, `{}`, 2},
		"never right":           {`{"type":"object"}`, []reply{text("no"), text("never")}, "never", 2},
		"with calls to the end": {`{"type":"object"}`, []reply{text("no"), asks("hm", call("x"))}, "hm", 2},
		"no schema":             {`{"type":"nonsense"}`, []reply{text("7")}, "7", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage{model: says(tt.replies...), tools: map[string]tools.Tool{"x": echo}, job: func(j *backend.Job) {
				form, err := backend.NewOutputForm(&spec.OutputSchema{Schema: []byte(tt.schema), OnMismatch: spec.MismatchAccepted})
				if err != nil {
					t.Fatal(err)
				}
				j.Local.Output = form
			}}
			got := s.play(t)
			got.ends(t, event.NaturalEnd, "")
			if got.Response != tt.response || len(s.model.requests) != tt.asked {
				t.Errorf("%q after %d requests", got.Response, len(s.model.requests))
			}
		})
	}
}

func TestWhatIsTooLongForTheModelIsKeptAsAnArtifact(t *testing.T) {
	long := strings.Repeat("0123456789", tools.MaxOutput/10+1)
	s := stage{model: says(asks("", call("x")), text("done")), tools: map[string]tools.Tool{"x": answers(long)}}
	got := s.play(t)
	got.ends(t, event.NaturalEnd, "")
	if len(got.artifacts) != 1 || string(got.artifacts[0].Data) != long {
		t.Fatalf("%d artifacts", len(got.artifacts))
	}
	if result := got.results()[0]; len(result) > tools.MaxOutput+200 || !strings.Contains(result, "kept as artifact "+got.artifacts[0].ID) {
		t.Errorf("the model reads %d bytes that end with %q", len(result), result[len(result)-80:])
	}
	at := slices.IndexFunc(got.events, func(d event.Data) bool { return d.Type() == event.TypeToolCallDone })
	if done := got.events[at].(*event.ToolCallDone); done.Artifact != got.artifacts[0].ID {
		t.Errorf("the event names artifact %q", done.Artifact)
	}
}

func TestTheJournalRecordsWhatToolsMayHaveDone(t *testing.T) {
	var keys []string
	seen := like(tools.Descriptor{Effect: tools.Read}, func(ctx context.Context, c *tools.Call) (tools.Result, error) {
		keys = append(keys, c.IdempotencyKey, tools.CallFrom(ctx).IdempotencyKey)
		return tools.ErrorResult("no"), nil
	})
	s := stage{
		agent: spec.Agent{ToolExecution: spec.Sequential},
		model: says(asks("", call("x"), call("y"), call("z")), text("done")),
		tools: map[string]tools.Tool{"x": seen, "y": echo},
	}
	got := s.play(t)
	if len(got.Journal) != 2 {
		t.Fatalf("the journal has %+v", got.Journal)
	}
	x, y := got.Journal[0], got.Journal[1]
	if x.Tool != "x" || x.Effect != tools.Read || x.Outcome != event.CallFailed || x.IdempotencyKey != keys[0] || keys[0] != keys[1] {
		t.Errorf("%+v, keys %q", x, keys)
	}
	if y.Effect != tools.Once || y.Outcome != event.CallSucceeded || y.IdempotencyKey == x.IdempotencyKey {
		t.Errorf("%+v", y)
	}
}

// TestAnAnswerCutOffBeforeItsFirstTextFails uses models that spend their limit on thinking.
func TestAnAnswerCutOffBeforeItsFirstTextFails(t *testing.T) {
	for name, replies := range map[string][]reply{
		"always":          {cutOff("", ""), cutOff("", ""), cutOff("", "")},
		"without a retry": {cutOff(" ", "")},
	} {
		s := stage{agent: spec.Agent{MaxContinuationRetries: new(len(replies) - 1)}, model: says(replies...)}
		t.Run(name, func(t *testing.T) {
			got := s.play(t)
			got.ends(t, event.Failed, string(model.EmptyAnswer))
		})
	}
	s := stage{model: says(cutOff("", ""), text("well"))}
	got := s.play(t)
	got.ends(t, event.NaturalEnd, "")
}
