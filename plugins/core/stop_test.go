package core_test

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// after returns how a turn ends after an answer.
func after(t *testing.T, e *execution.Engine, answer model.Message) *event.Termination {
	t.Helper()
	e.Context.Answer = &answer
	err := e.Run(t.Context(), plugins.AfterInference)
	stop := e.StopRequest()
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

var asking = model.Message{Parts: []model.Part{model.Text("hm"), {Type: model.PartToolCall, ToolCall: &model.ToolCall{Name: "x"}}}}

func TestTheEndNamesItsConditionAndWhy(t *testing.T) {
	for _, tt := range []struct {
		when spec.StopCondition
		want string
	}{
		{spec.StopCondition{Type: spec.StopMaxRounds, Rounds: 3}, "3 rounds"},
		{spec.StopCondition{Type: spec.StopTimeout, Timeout: new(spec.Duration(time.Minute))}, "after 1m0s"},
		{spec.StopCondition{Type: spec.StopTokenBudget, MaxTotal: 99}, "100 of 99 tokens"},
		{spec.StopCondition{Type: spec.StopConsecutiveErrors, Max: 2}, "2 steps in a row failed"},
		{spec.StopCondition{Type: spec.StopOnTool, ToolName: "x"}, "x"},
		{spec.StopCondition{Type: spec.StopContentMatch, Pattern: "h."}, "h."},
		{spec.StopCondition{Type: spec.StopLoopDetection, Window: 2}, "2 identical answers"},
	} {
		e := engine(t, &spec.Agent{StopConditions: []spec.StopCondition{tt.when}})
		*e.Context.Stats = plugins.Stats{
			Steps: 3, Usage: model.Usage{Input: 60, Output: 40}, FailedSteps: 2, Started: time.Now().Add(-time.Hour),
		}
		if tt.when.Type == spec.StopLoopDetection {
			if stop := after(t, e, asking); stop != nil {
				t.Errorf("one answer is no loop: %+v", stop)
			}
		}
		want := &event.Termination{Type: event.Stopped, Code: string(tt.when.Type), Detail: tt.want}
		if diff := cmp.Diff(want, after(t, e, asking)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestALoopIsWhatTheLatestAnswersSay(t *testing.T) {
	for _, tt := range []struct {
		windows []int
		answers string // one letter an answer
		at      int    // the answer that stops the turn; 0 for none
	}{
		{[]int{2}, "aa", 2},
		{[]int{2}, "aba", 0},
		{[]int{3}, "aabbb", 5},
		{[]int{3, 2}, "abb", 3},
		{[]int{4, 3}, "aab", 0},
		{[]int{5, 3}, "aa", 0},
		{[]int{1, 0}, "aaaa", 0},
	} {
		var when []spec.StopCondition
		for _, w := range tt.windows {
			when = append(when, spec.StopCondition{Type: spec.StopLoopDetection, Window: w})
		}
		e := engine(t, &spec.Agent{StopConditions: when})
		at := 0
		for i := range tt.answers {
			if after(t, e, model.Assistant(tt.answers[i:i+1])) != nil {
				at = i + 1
				break
			}
		}
		if at != tt.at {
			t.Errorf("windows %v, answers %q: stopped at %d, want %d", tt.windows, tt.answers, at, tt.at)
		}
	}
}

func TestAConditionThatIsOffOrUnknownIsLeftOut(t *testing.T) {
	e := engine(t, &spec.Agent{MaxRounds: new(0), StopConditions: []spec.StopCondition{
		{Type: spec.StopMaxRounds}, {Type: spec.StopTimeout}, {Type: spec.StopTimeout, Timeout: new(spec.Duration(0))},
		{Type: spec.StopTokenBudget}, {Type: spec.StopConsecutiveErrors}, {Type: spec.StopOnTool}, {Type: spec.StopContentMatch},
		{Type: spec.StopContentMatch, Pattern: "("}, {Type: spec.StopLoopDetection}, {Type: "unknown"}, {},
	}})
	*e.Context.Stats = plugins.Stats{Steps: 1e6, Usage: model.Usage{Input: 1e9}, FailedSteps: 1e6}
	for range 5 {
		if stop := after(t, e, asking); stop != nil {
			t.Fatalf("the turn ended by %+v", stop)
		}
	}
}

func TestActionsWithAWrongPayloadAreDeadLetters(t *testing.T) {
	for key, payload := range map[string]any{
		core.AddContextMessage: "text", core.SetInferenceOverride: nil, core.ExcludeTool: []string{"x"}, core.IncludeOnlyTools: "x",
	} {
		schedules := planner(func(r *plugins.Registrar) {
			core.LoopActions{}.Register(r)
			r.Hook(plugins.BeforeInference, schedule(key, payload))
		})
		env, errs := execution.Build(&spec.Agent{}, []execution.Loaded{{ID: "p", Plugin: schedules}}, nil)
		if errs != nil {
			t.Fatal(errs)
		}
		e := execution.NewEngine(env, nil)
		if err := e.Run(t.Context(), plugins.BeforeInference); err != nil {
			t.Fatal(err)
		}
		if plan := e.TakeRequest(); len(e.DeadLetters()) != 1 || plan != nil {
			t.Errorf("%s: the dead letters are %v, the plan %+v", key, e.DeadLetters(), plan)
		}
	}
}

// endStep runs the phase that ends a step.
func endStep(t *testing.T, e *execution.Engine) *event.Termination {
	t.Helper()
	err := e.Run(t.Context(), plugins.StepEnd)
	stop := e.StopRequest()
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

func TestATurnWhoseAnswerIsFinalEndsByItself(t *testing.T) {
	t.Parallel()
	final := model.Assistant("hm")
	for _, tt := range []struct {
		when spec.StopCondition
		ends bool
	}{
		{spec.StopCondition{Type: spec.StopMaxRounds, Rounds: 3}, false},
		{spec.StopCondition{Type: spec.StopTimeout, Timeout: new(spec.Duration(time.Minute))}, false},
		{spec.StopCondition{Type: spec.StopTokenBudget, MaxTotal: 99}, false},
		{spec.StopCondition{Type: spec.StopConsecutiveErrors, Max: 2}, false},
		{spec.StopCondition{Type: spec.StopContentMatch, Pattern: "h."}, true},
		{spec.StopCondition{Type: spec.StopLoopDetection, Window: 2}, true},
	} {
		e := engine(t, &spec.Agent{StopConditions: []spec.StopCondition{tt.when}})
		*e.Context.Stats = plugins.Stats{
			Steps: 3, Usage: model.Usage{Input: 60, Output: 40}, FailedSteps: 2, Started: time.Now().Add(-time.Hour),
		}
		after(t, e, final)
		if stop := after(t, e, final); (stop != nil) != tt.ends {
			t.Errorf("%s: the turn ends by %+v", tt.when.Type, stop)
		}
		if stop := endStep(t, e); stop != nil {
			t.Errorf("%s: the step ends by %+v", tt.when.Type, stop)
		}
	}
}

func TestFailuresInARowEndTheTurnWithTheStepThatIsTheLast(t *testing.T) {
	t.Parallel()
	e := engine(t, &spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopConsecutiveErrors, Max: 2}}})
	for failed, want := range []bool{false, false, true} {
		e.Context.Stats.FailedSteps = failed
		e.Context.Answer = &asking
		if stop := endStep(t, e); (stop != nil) != want {
			t.Errorf("after %d failed steps the turn ends by %+v", failed, stop)
		}
	}
	e.Context.Answer = nil // a step that somebody else's loop ended
	if stop := endStep(t, e); stop != nil {
		t.Errorf("without an answer the turn ends by %+v", stop)
	}
}

// TestStopConditionsCountOverStops proves that a turn that is stopped and goes
// on does not get its limits anew.
func TestStopConditionsCountOverStops(t *testing.T) {
	t.Parallel()
	for _, when := range []spec.StopCondition{
		{Type: spec.StopMaxRounds, Rounds: 3},
		{Type: spec.StopTimeout, Timeout: new(spec.Duration(90 * time.Second))}, // the time of two steps
		{Type: spec.StopTokenBudget, MaxTotal: 25},
		{Type: spec.StopConsecutiveErrors, Max: 3},
		{Type: spec.StopLoopDetection, Window: 3},
	} {
		agent := &spec.Agent{MaxRounds: new(0), StopConditions: []spec.StopCondition{when}}
		e := engine(t, agent)
		steps, ended := 0, false
		for !ended && steps < 6 {
			steps++
			stats := e.Context.Stats
			stats.Started = time.Now()
			stats.Steps++
			stats.FailedSteps++
			e.Context.AddUsage(model.Usage{Input: 6, Output: 4}, "m")
			ended = after(t, e, asking) != nil || endStep(t, e) != nil
			stats.Elapsed += time.Minute // the time that the step took
			e = resumed(t, e, agent)
		}
		if steps != 3 {
			t.Errorf("%s: the turn ended with step %d", when.Type, steps)
		}
	}
}
