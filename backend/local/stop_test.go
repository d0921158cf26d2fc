package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

// rounds returns n answers that each call a tool, followed by a text.
func rounds(n int) *script {
	s := &script{}
	for range n {
		s.replies = append(s.replies, asks("thinking", callWith("c", "x", "{}")))
	}
	s.replies = append(s.replies, text("done"))
	return s
}

func TestTheRoundLimit(t *testing.T) {
	for _, tt := range []struct {
		name     string
		limit    *int
		rounds   int // calling a tool, before the text
		reason   event.Reason
		executed int
		response string
	}{
		{"a text in the last round counts", new(3), 2, event.NaturalEnd, 2, "done"},
		{"tools of the last round do not run", new(3), 3, event.Stopped, 2, "thinking"},
		{"one round is enough for a text", new(1), 0, event.NaturalEnd, 0, "done"},
		{"one round is not enough for a tool", new(1), 1, event.Stopped, 0, "thinking"},
		{"0 is no limit", new(0), 40, event.NaturalEnd, 40, "done"},
		{"the default reached", nil, spec.DefaultMaxRounds - 1, event.NaturalEnd, spec.DefaultMaxRounds - 1, "done"},
		{"the default passed", nil, spec.DefaultMaxRounds, event.Stopped, spec.DefaultMaxRounds - 1, "thinking"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			executed := 0
			got := stage{
				agent: spec.Agent{MaxRounds: tt.limit},
				model: rounds(tt.rounds),
				tools: map[string]tools.Tool{"x": does(func(context.Context, *tools.Call) (tools.Result, error) {
					executed++
					return tools.TextResult("ok"), nil
				})},
			}.play(t)
			code := ""
			if tt.reason == event.Stopped {
				code = "max_rounds"
				if results := got.results(); !strings.HasSuffix(results[len(results)-1], "! [Tool execution was interrupted]") {
					t.Errorf("the last result is %q", results[len(results)-1])
				}
			}
			got.ends(t, tt.reason, code)
			if executed != tt.executed || got.Response != tt.response {
				t.Errorf("%d tools ran and the turn came to %q", executed, got.Response)
			}
		})
	}
}

func TestATurnMayFailWhenItsRoundsAreUsedUp(t *testing.T) {
	got := stage{
		agent: spec.Agent{MaxRounds: new(2), OnMaxRounds: spec.MaxRoundsFails},
		model: says(asks("one", call("x")), asks("two", call("x"))), tools: map[string]tools.Tool{"x": echo},
	}.play(t)
	got.ends(t, event.BudgetExceeded, "max_rounds")
	if got.Response != "two" || got.Termination.Status() != event.StatusFailed {
		t.Errorf("it came to %q as %s", got.Response, got.Termination.Status())
	}
}

func TestAModelAnswersInTheLastRoundWithoutTools(t *testing.T) {
	for name, tt := range map[string]struct {
		limit    int
		replies  []reply
		asked    int
		response string
	}{
		"it answers before":      {3, []reply{asks("", call("x")), text("done")}, 2, "done"},
		"it has to":              {3, []reply{asks("", call("x")), asks("", call("x")), text("done")}, 3, "done"},
		"in the only round":      {1, []reply{text("done")}, 1, "done"},
		"it calls tools anyhow":  {2, []reply{asks("", call("x")), asks("hm", call("x"))}, 2, "hm"},
		"its form is asked anew": {2, []reply{asks("", call("x")), text("no"), text(`{"a":1}`)}, 3, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			executed := 0
			s := stage{
				agent: spec.Agent{MaxRounds: &tt.limit, OnMaxRounds: spec.MaxRoundsFinalizes}, model: says(tt.replies...),
				tools: map[string]tools.Tool{"x": does(func(context.Context, *tools.Call) (tools.Result, error) {
					executed++
					return tools.TextResult("ok"), nil
				})},
				job: func(j *backend.Job) {
					j.Checkpoint = func(context.Context, *backend.State) error { return backend.ErrYield }
				},
			}
			if strings.Contains(name, "form") {
				yields := s.job
				s.job = func(j *backend.Job) { yields(j); mustAnswer(t)(j) }
			}
			got := s.play(t)
			for i := 0; errors.Is(got.err, backend.ErrYield) && i < 5; i++ {
				got = s.goesOn(t, got.State)
			}
			got.ends(t, event.NaturalEnd, "")
			if got.Response != tt.response || len(s.model.requests) != tt.asked || executed > tt.limit-1 {
				t.Errorf("%q after %d requests and %d calls", got.Response, len(s.model.requests), executed)
			}
			for i, req := range s.model.requests {
				last := req.Messages[len(req.Messages)-1]
				if final := i+1 >= tt.limit; final != (req.ToolChoice.Mode == model.ToolsNone) || final != (last.Role == model.RoleUser && last.Text() != "go") {
					t.Errorf("request %d has the choice %q and ends with %q", i+1, req.ToolChoice.Mode, last.Text())
				}
				if len(req.Tools) != 1 {
					t.Errorf("request %d offers %d tools", i+1, len(req.Tools))
				}
			}
			for i := range got.Messages {
				if got.Messages[i].Role == model.RoleUser {
					t.Errorf("the conversation keeps %q", got.Messages[i].Text())
				}
			}
		})
	}
}

func TestStopConditions(t *testing.T) {
	ok, bad := answers("ok"), does(func(context.Context, *tools.Call) (tools.Result, error) {
		return tools.ErrorResult("bad"), nil
	})
	works, breaks := asks("", callWith("c", "ok", "{}")), asks("", callWith("c", "bad", "{}"))
	mixed := asks("", callWith("c", "ok", "{}"), callWith("d", "bad", "{}"))
	sayAnd := func(s string) reply { return asks(s, callWith("c", "ok", "{}")) }
	for _, tt := range []struct {
		name     string
		when     []spec.StopCondition
		model    *script
		code     string // empty if the turn ends normally
		steps    int
		response string
	}{
		{"rounds", []spec.StopCondition{{Type: spec.StopMaxRounds, Rounds: 2}}, says(works, works, text("done")), "max_rounds", 2, ""},
		{"rounds off", []spec.StopCondition{{Type: spec.StopMaxRounds}}, says(works, works, text("done")), "", 3, "done"},
		{"tokens", []spec.StopCondition{{Type: spec.StopTokenBudget, MaxTotal: 29}}, says(works, works, text("done")), "token_budget", 2, ""},
		{"tokens, exactly", []spec.StopCondition{{Type: spec.StopTokenBudget, MaxTotal: 30}}, says(works, text("done")), "", 2, "done"},
		{"tokens off", []spec.StopCondition{{Type: spec.StopTokenBudget}}, says(works, text("done")), "", 2, "done"},
		{"errors", []spec.StopCondition{{Type: spec.StopConsecutiveErrors, Max: 2}}, says(breaks, breaks, text("done")), "consecutive_errors", 2, ""},
		{"errors in between", []spec.StopCondition{{Type: spec.StopConsecutiveErrors, Max: 2}}, says(breaks, works, breaks, text("done")), "", 4, "done"},
		{"errors beside a success", []spec.StopCondition{{Type: spec.StopConsecutiveErrors, Max: 2}}, says(breaks, mixed, breaks, text("done")), "", 4, "done"},
		{"errors off", []spec.StopCondition{{Type: spec.StopConsecutiveErrors}}, says(breaks, breaks, text("done")), "", 3, "done"},
		{"tool", []spec.StopCondition{{Type: spec.StopOnTool, ToolName: "bad"}}, says(works, mixed, text("done")), "stop_on_tool", 2, ""},
		{"tool off", []spec.StopCondition{{Type: spec.StopOnTool}}, says(mixed, text("done")), "", 2, "done"},
		{"content", []spec.StopCondition{{Type: spec.StopContentMatch, Pattern: `(?i)\bdone\b`}}, says(sayAnd("not yet"), sayAnd("All done."), text("never")), "content_match", 2, "All done."},
		{"content of the last answer", []spec.StopCondition{{Type: spec.StopContentMatch, Pattern: `done`}}, says(text("done")), "content_match", 1, "done"},
		{"content off", []spec.StopCondition{{Type: spec.StopContentMatch}}, says(text("done")), "", 1, "done"},
		{"loop", []spec.StopCondition{{Type: spec.StopLoopDetection, Window: 3}}, says(sayAnd("a"), sayAnd("b"), sayAnd("b"), sayAnd("b"), text("done")), "loop_detection", 4, "b"},
		{"loop, silence does not count", []spec.StopCondition{{Type: spec.StopLoopDetection, Window: 2}}, says(sayAnd("a"), works, sayAnd("a"), text("done")), "loop_detection", 3, "a"},
		{"loop off", []spec.StopCondition{{Type: spec.StopLoopDetection, Window: 1}}, says(sayAnd("a"), sayAnd("a"), text("a")), "", 3, "a"},
		{"two loops do not count twice", []spec.StopCondition{{Type: spec.StopLoopDetection, Window: 5}, {Type: spec.StopLoopDetection, Window: 3}}, says(sayAnd("a"), sayAnd("a"), text("done")), "", 3, "done"},
		{"the first that holds", []spec.StopCondition{{Type: spec.StopOnTool, ToolName: "bad"}, {Type: spec.StopMaxRounds, Rounds: 1}}, says(mixed), "stop_on_tool", 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stage{
				agent: spec.Agent{StopConditions: tt.when},
				model: tt.model,
				tools: map[string]tools.Tool{"ok": ok, "bad": bad},
			}.play(t)
			reason := event.NaturalEnd
			if tt.code != "" {
				reason = event.Stopped
			}
			got.ends(t, reason, tt.code)
			if got.Steps != tt.steps || got.Response != tt.response {
				t.Errorf("the turn took %d steps and came to %q, want %d and %q", got.Steps, got.Response, tt.steps, tt.response)
			}
		})
	}
}

func TestAStoppedTurnKeepsItsTextAndAnswersItsCalls(t *testing.T) {
	got := stage{
		agent: spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopContentMatch, Pattern: "STOP"}}},
		model: says(asks("STOP here", callWith("a", "x", "{}"), callWith("b", "nothing", "{}"))),
		tools: map[string]tools.Tool{"x": answers("ran")},
	}.play(t)
	got.ends(t, event.Stopped, "content_match")
	if got.Messages[0].Text() != "STOP here" {
		t.Errorf("the conversation keeps %q", got.Messages[0].Text())
	}
	want := []string{"a! [Tool execution was interrupted]", "b! [Tool execution was interrupted]"}
	if diff := cmp.Diff(want, got.results()); diff != "" {
		t.Error(diff)
	}
}

func TestTheTimeConditionLooksAtTheWholeTurn(t *testing.T) {
	for _, tt := range []struct {
		limit *spec.Duration
		code  string
		steps int
	}{
		{new(spec.Duration(90 * time.Second)), "timeout", 3},
		{new(spec.Duration(80 * time.Second)), "timeout", 3},
		{new(spec.Duration(2 * time.Minute)), "", 4},
		{new(spec.Duration(0)), "", 4},
		{nil, "", 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(next reply) reply {
				return func(ctx context.Context, yield func(model.Event, error) bool) {
					time.Sleep(30*time.Second + time.Millisecond)
					next(ctx, yield)
				}
			}
			ask := asks("", callWith("c", "x", "{}"))
			got := stage{
				agent: spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopTimeout, Timeout: tt.limit}}},
				model: says(slow(ask), slow(ask), slow(ask), text("done")),
				tools: map[string]tools.Tool{"x": answers("ok")},
			}.play(t)
			reason := event.NaturalEnd
			if tt.code != "" {
				reason = event.Stopped
			}
			got.ends(t, reason, tt.code)
			if got.Steps != tt.steps {
				t.Errorf("limit %v: the turn took %d steps, want %d", tt.limit, got.Steps, tt.steps)
			}
		})
	}
}
