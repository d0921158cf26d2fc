package evals_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service/evalcase"
)

// answering is a provider that answers every request with a text and counts the requests.
type answering struct {
	answer func(req *model.Request) string
	asked  atomic.Int64
}

func (a *answering) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	a.asked.Add(1)
	text := a.answer(req)
	return func(yield func(model.Event, error) bool) {
		usage := model.Usage{Input: 100, Output: 10}
		if yield(model.Event{Type: model.EventText, Delta: text}, nil) {
			yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: &usage}, nil)
		}
	}
}

func TestARecordingAnswersUntilThePromptChanges(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value"
	dir := t.TempDir()
	provider := &answering{answer: func(*model.Request) string { return "Hello, " + secret }}
	s := newShop(t, provider)
	greet := func(prompt string, mode evals.Mode) (*evals.Result, []string) {
		suite := loadCasesIn(t, dir, "greet: {agent: clerk, turns: [{prompt: "+prompt+", expect: {text: {contains: [hello]}}}]}")
		return only(t, &evals.Runner{Runtime: s.runtime, Suite: suite, Mode: mode, Redact: func(text string) string { return strings.ReplaceAll(text, secret, "***") }})
	}
	if r, failures := greet("hi", evals.ModeReplay); r.Status != evals.Errored || !strings.Contains(failures[0], "there is no recording") {
		t.Fatalf("%s: %q", r.Status, failures)
	}
	if r, failures := greet("hi", evals.ModeRecord); r.Status != evals.Passed || r.Deterministic {
		t.Fatalf("%s: %q", r.Status, failures)
	}
	recording, err := os.ReadFile(filepath.Join(dir, "recordings", "greet.jsonl"))
	if err != nil || strings.Contains(string(recording), secret) {
		t.Fatalf("%v: %s", err, recording)
	}
	asked := provider.asked.Load()
	r, failures := greet("hi", evals.ModeReplay)
	if r.Status != evals.Passed || !r.Deterministic || r.Turns[0].Response != "Hello, ***" {
		t.Errorf("%s: %q: %+v", r.Status, failures, r.Turns)
	}
	if r, failures := greet("hello", evals.ModeReplay); r.Status != evals.Errored || !strings.Contains(failures[0], "record again with --record") {
		t.Errorf("%s: %q", r.Status, failures)
	}
	if n := provider.asked.Load(); n != asked {
		t.Errorf("replaying asked the provider %d times", n-asked)
	}
}

// TestJudges has passing and failing graders of each type.
func TestJudges(t *testing.T) {
	t.Parallel()
	grade := func(score int) string {
		return fmt.Sprintf(`{"scores":[{"score":%d,"comment":"because"}]}`, score)
	}
	for _, c := range []struct{ judge, answer, failure string }{
		{"{type: model, model_id: judge, rubric: Is it polite?}", grade(5), ""},
		{"{type: model, model_id: judge, rubric: Is it polite?}", grade(2), "turn 1: judges[0]: judge model gives 0.25: because"},
		{"{type: model, model_id: judge, rubric: Is it polite?, pass: 0.2, votes: 3}", grade(2), ""},
		{"{type: model, model_id: judge, rubric: 'Is it polite?', criteria: [short, kind]}", `{"scores":[{"score":5,"comment":"a"},{"score":3,"comment":"b"}]}`, ""},
		{"{type: command, command: [sh, -c, 'grep -q \"\\\"response\\\":\\\"fine\\\"\" && echo ''{\"score\": 0.9}''']}", "", ""},
		{"{type: command, name: strict, command: [echo, '{\"score\": 0.1, \"comment\": \"no\"}']}", "", "turn 1: judges[0]: judge strict gives 0.10: no"},
	} {
		t.Run(c.judge, func(t *testing.T) {
			t.Parallel()
			provider := &answering{answer: func(req *model.Request) string {
				if req.Model == "judge" {
					return c.answer
				}
				return "fine"
			}}
			s := newShop(t, provider)
			suite := loadCases(t, "c: {agent: clerk, models: live, turns: [{prompt: hi, expect: {judges: ["+c.judge+"]}}]}")
			r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
			if got := strings.Join(failures, "\n"); got != c.failure || r.Status == evals.Errored {
				t.Errorf("%s: %q, want %q", r.Status, got, c.failure)
			}
			if r.Score == nil || len(r.Turns[0].Verdicts) != 1 {
				t.Errorf("%+v", r.Turns[0])
			}
		})
	}
}

// TestAJudgeThatCannotGradeIsAnErrorOfTheCase has answers that are not grades.
func TestAJudgeThatCannotGradeIsAnErrorOfTheCase(t *testing.T) {
	t.Parallel()
	for _, judge := range []string{
		"{type: command, command: [echo, '{}']}", "{type: command, command: [echo, '{\"score\": 7}']}", "{type: command, command: ['false']}",
		"{type: http, url: 'http://127.0.0.1:1/', timeout: 1s}", "{type: model, model_id: nobody, rubric: x}",
	} {
		s := newShop(t, &answering{answer: func(*model.Request) string { return "fine" }})
		suite := loadCases(t, "c: {agent: clerk, models: live, turns: [{prompt: hi, expect: {judges: ["+judge+"]}}]}")
		if r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite}); r.Status != evals.Errored || len(failures) == 0 {
			t.Errorf("%s: %s: %q", judge, r.Status, failures)
		}
	}
}

// TestATeamsOwnGrader grades every turn.
func TestATeamsOwnGrader(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	c := &evals.Case{ID: "c", Agent: "clerk", Models: evals.Scripted, Script: json.RawMessage(`{"replies":[{"text":"no"}]}`), Turns: []evals.Turn{{Prompt: "hi"}}}
	short := func(_ context.Context, _ *evals.Case, turn *evals.TurnResult) (float64, string, error) {
		return 0, turn.Response + " is too short", nil
	}
	r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: evals.NewSuite(c), Graders: map[string]evals.Grader{"length": short}})
	if r.Status != evals.Failed || !slices.Equal(failures, []string{"turn 1: grader length: judge length gives 0.00: no is too short"}) {
		t.Errorf("%s: %q", r.Status, failures)
	}
}

// TestAScoreOutsideOfTheScaleIsAnErrorOfTheCase uses graders with invalid scores.
func TestAScoreOutsideOfTheScaleIsAnErrorOfTheCase(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	c := &evals.Case{ID: "c", Agent: "clerk", Models: evals.Scripted, Script: json.RawMessage(`{"replies":[{"text":"no"}]}`), Turns: []evals.Turn{{Prompt: "hi"}}}
	for _, score := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.1, 1.1} {
		broken := func(context.Context, *evals.Case, *evals.TurnResult) (float64, string, error) { return score, "", nil }
		r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: evals.NewSuite(c), Graders: map[string]evals.Grader{"broken": broken}})
		if _, err := json.Marshal(r); err != nil || r.Status != evals.Errored || len(failures) != 1 || !strings.Contains(failures[0], "must be 0 to 1") {
			t.Errorf("%v: %s, %v: %q", score, r.Status, err, failures)
		}
	}
	for _, answer := range []string{`{"score":NaN}`, `{"score":1e999}`, `{"score":"1"}`, `{"score":null}`, `{"score":1.01}`, `[1]`, ``} {
		c.Turns[0].Expect.Judges = []evals.Judge{{Type: "command", Command: []string{"printf", "%s", answer}}}
		if r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: evals.NewSuite(c)}); r.Status != evals.Errored {
			t.Errorf("%s: %s: %q", answer, r.Status, failures)
		}
	}
}

// TestApprovalsAndQuestionsAreAnswered has a call that needs approval and a question.
func TestApprovalsAndQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, answers, expect, failure string }{
		{"{tool_calls: [{name: refund, arguments: {amount: 500}}]}", "[{tool: refund, approve: true}]", "calls: {calls: [{rule: refund, outcome: succeeded}]}", ""},
		{"{tool_calls: [{name: refund, arguments: {amount: 500}}]}", "[{tool: refund, approve: false}]", "calls: {calls: [{rule: refund, outcome: failed}]}", ""},
		{"{tool_calls: [{name: refund, arguments: {amount: 500}}]}", "[{approve: true, arguments: {amount: 7}}]", "calls: {calls: [{rule: refund(amount = 7)}]}, not_called: [refund(amount > 100)]", ""},
		{"{tool_calls: [{name: refund, arguments: {amount: 500}}]}", "[]", "status: waiting", ""},
		{"{tool_calls: [{name: refund, arguments: {amount: 500}}]}", "[]", "status: succeeded", "turn 1: status: the turn is waiting, not succeeded: suspended (tool refund asks, and answers has no entry for it"},
		{"{tool_calls: [{name: ask, arguments: {question: Which one?}}]}", "[{tool: ask, text: the red one}]", "calls: {calls: [{rule: ask, outcome: succeeded}]}", ""},
		{"{tool_calls: [{name: ask, arguments: {question: Which one?}}]}", "[{tool: ask, value: red}]", "calls: {calls: [{rule: ask}]}", ""},
	} {
		t.Run(c.script+c.answers+c.expect, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, unasked{t})
			suite := loadCases(t, fmt.Sprintf("c: {agent: clerk, models: scripted, script: {replies: [%s, {text: done}]}, tools: {refund: {result: ok}}, answers: %s, turns: [{prompt: go, expect: {%s}}]}", c.script, c.answers, c.expect))
			r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
			if c.failure == "" && r.Status != evals.Passed || c.failure != "" && !strings.HasPrefix(strings.Join(failures, "\n"), c.failure) {
				t.Errorf("%s: %q", r.Status, failures)
			}
			if s.refunds.Load() > 0 {
				t.Error("refund ran")
			}
		})
	}
}

// TestAConversationHasTurns carries the history and the handoff target to the next turn.
func TestAConversationHasTurns(t *testing.T) {
	t.Parallel()
	provider := &answering{answer: func(req *model.Request) string { return fmt.Sprintf("%d messages", len(req.Messages)) }}
	s := newShop(t, provider)
	suite := loadCases(t, "c: {agent: clerk, models: live, turns: [{prompt: a}, {prompt: b}, {prompt: c, expect: {text: {equals: 6 messages}}}]}")
	if r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite}); r.Status != evals.Passed {
		t.Errorf("%s: %q", r.Status, failures)
	}
}

// TestACeilingOfCostSkipsTheRest runs three cases of which the first one costs too much.
func TestACeilingOfCostSkipsTheRest(t *testing.T) {
	t.Parallel()
	s := newShop(t, &answering{answer: func(*model.Request) string { return "x" }})
	suite := loadCases(t, "a: {agent: clerk, models: live, turns: [{prompt: x}]}\nb: {agent: clerk, models: live, turns: [{prompt: x}]}\nc: {agent: clerk, models: live, turns: [{prompt: x}]}")
	var got []evals.Status
	for _, r := range runAll(t, &evals.Runner{Runtime: s.runtime, Suite: suite, MaxCost: 0.00001}) {
		got = append(got, r.Status)
	}
	if want := []evals.Status{evals.Passed, evals.Skipped, evals.Skipped}; !slices.Equal(got, want) {
		t.Errorf("the runs are %v, want %v", got, want)
	}
}

// TestTheCeilingCountsOtherRunners runs after a runner that exhausted the ceiling, and after a
// runner whose runs were replayed.
func TestTheCeilingCountsOtherRunners(t *testing.T) {
	t.Parallel()
	s := newShop(t, &answering{answer: func(*model.Request) string { return "x" }})
	live := loadCases(t, "a: {agent: clerk, models: live, turns: [{prompt: x}]}")
	scripted := loadCases(t, `a: {agent: clerk, models: scripted, script: {replies: [{text: x}]}, turns: [{prompt: x}]}`)
	for _, c := range []struct {
		before *evals.Suite
		want   evals.Status
	}{{live, evals.Skipped}, {scripted, evals.Passed}} {
		before := runAll(t, &evals.Runner{Runtime: s.runtime, Suite: c.before})
		after := runAll(t, &evals.Runner{Runtime: s.runtime, Suite: live, MaxCost: 0.00001, Spent: evals.CostOf(before)})
		if before[0].Cost.Amount == 0 || after[0].Status != c.want {
			t.Errorf("after a cost of %s, the run is %s, want %s", before[0].Cost, after[0].Status, c.want)
		}
	}
}

// TestRunsArePaced checks when runs start, including at a rate above the clock's resolution.
func TestRunsArePaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		perMinute int
		want      time.Duration
	}{{2, time.Minute}, {100_000_000_000, 0}} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t, unasked{t})
			suite := loadCases(t, `a: {agent: clerk, models: scripted, script: {replies: [{text: x}]}, turns: [{prompt: x}]}`)
			begun := time.Now()
			runAll(t, &evals.Runner{Runtime: s.runtime, Suite: suite, Repeat: 3, PerMinute: c.perMinute})
			if took := time.Since(begun).Round(time.Second); took != c.want {
				t.Errorf("3 runs at %d a minute took %s, want %s", c.perMinute, took, c.want)
			}
		})
	}
}

// TestAnInterruptedRunContinuesWithoutAskingTwice cancels a run after its first judged
// case, and continues it from its results.
func TestAnInterruptedRunContinuesWithoutAskingTwice(t *testing.T) {
	t.Parallel()
	provider := &answering{answer: func(req *model.Request) string {
		if req.Model == "judge" {
			return `{"scores":[{"score":5,"comment":"good"}]}`
		}
		return "fine"
	}}
	s := newShop(t, provider)
	var cases []string
	for i := range 4 {
		cases = append(cases, fmt.Sprintf("c%d: {agent: clerk, models: live, turns: [{prompt: x, expect: {judges: [{type: model, model_id: judge, rubric: good}]}}]}", i))
	}
	suite := loadCases(t, strings.Join(cases, "\n"))
	ctx, cancel := context.WithCancel(t.Context())
	var kept []*evals.Result
	first := &evals.Runner{Runtime: s.runtime, Suite: suite, OnResult: func(r *evals.Result) {
		kept = append(kept, r)
		if len(kept) == 2 {
			cancel()
		}
	}}
	if _, err := first.Run(ctx); err == nil {
		t.Error("a canceled run has no error")
	}
	results := runAll(t, &evals.Runner{Runtime: s.runtime, Suite: suite, Done: kept})
	if sum := evals.NewReport(results, nil, 0).Summary; sum.Passed != 4 {
		t.Errorf("%+v", sum)
	}
	if n := provider.asked.Load(); n != 8 {
		t.Errorf("the models were asked %d times for 4 judged cases", n)
	}
}

// TestTheTrueRateLiesInTheInterval runs a model that passes with a known probability, 100 times
// with 60 repeats.
func TestTheTrueRateLiesInTheInterval(t *testing.T) {
	t.Parallel()
	const rate, runs, repeats = 0.8, 100, 60
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	s := newShop(t, &answering{answer: func(*model.Request) string {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() < rate {
			return "yes"
		}
		return "no"
	}})
	results := runAll(t, &evals.Runner{
		Runtime: s.runtime, Mode: evals.ModeLive, Repeat: runs * repeats, Parallel: 2,
		Suite: loadCases(t, "noisy: {agent: helper, turns: [{prompt: x, expect: {text: {equals: 'yes'}}}]}"),
	})
	inside := 0
	for run := range slices.Chunk(results, repeats) {
		if r := evals.NewReport(run, nil, 0).Summary; r.Runs == repeats && r.Low <= rate && rate <= r.High {
			inside++
		}
	}
	if t.Logf("the true rate lies in %d of %d intervals", inside, runs); inside < 95 {
		t.Errorf("the true rate lies in %d of %d intervals", inside, runs)
	}
}

// TestARegressionOf15PointsIsFound compares 60 repeats before and after a regression, and 60
// without one. A single case suffices if it always passed; a flaky case needs other cases beside
// it.
func TestARegressionOf15PointsIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cases         int
		before, after float64
	}{{1, 1, 0.85}, {10, 0.9, 0.75}} {
		random := rand.New(rand.NewPCG(3, 4))
		results := func(rate float64) []*evals.Result {
			var list []*evals.Result
			for i := range c.cases {
				for n := range 60 {
					status := evals.Passed
					if random.Float64() >= rate {
						status = evals.Failed
					}
					list = append(list, &evals.Result{Case: fmt.Sprint(i), Repeat: n + 1, Status: status})
				}
			}
			return list
		}
		found, noise := 0, 0
		for range 100 {
			before := results(c.before)
			if r := evals.NewReport(results(c.after), before, 0.02); !r.Passed() {
				found++
			}
			if r := evals.NewReport(results(c.before), before, 0); !r.Passed() {
				noise++
			}
		}
		if found < 95 || noise > 12 {
			t.Errorf("%d cases: %d of 100 regressions were found, and %d where there is none", c.cases, found, noise)
		}
	}
}

// TestARecordedOutcomeIsNotChance compares single runs.
func TestARecordedOutcomeIsNotChance(t *testing.T) {
	t.Parallel()
	result := func(status evals.Status, deterministic bool) []*evals.Result {
		return []*evals.Result{{Case: "c", Repeat: 1, Status: status, Deterministic: deterministic}}
	}
	for _, c := range []struct {
		deterministic, passes bool
	}{{true, false}, {false, true}} {
		if r := evals.NewReport(result(evals.Failed, c.deterministic), result(evals.Passed, c.deterministic), 0); r.Passed() != c.passes {
			t.Errorf("deterministic %v: passed is %v", c.deterministic, r.Passed())
		}
	}
}

// TestADraftOfATurnPasses creates a case from a finished turn and runs it.
func TestADraftOfATurnPasses(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	dir := t.TempDir()
	file := filepath.Join(dir, "turns.yaml")
	draft, err := evalcase.New("first", storedTurn(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if err := evals.WriteDraft(draft, file, []string{file}, func(text string) string { return text }); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(file)
	if err := evals.WriteDraft(draft, file, []string{file}, func(text string) string { return text }); err == nil {
		t.Error("a case was added twice")
	}
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Error("an error changed the file")
	}
	suite, found, err := evals.Load([]string{file})
	if err != nil || len(found) > 0 {
		t.Fatalf("%v %v\n%s", err, found, before)
	}
	s.refunds.Store(0)
	if r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite}); r.Status != evals.Passed || s.refunds.Load() > 0 {
		t.Errorf("%s: %q\n%s", r.Status, failures, before)
	}
}

// TestASimulatedUserTalksUntilDone has a user who asks twice, and expectations of the
// whole conversation.
func TestASimulatedUserTalksUntilDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expect, failure string
		turns           int
	}{
		{"text: {contains: [answer 2]}", "", 2},
		{"text: {contains: [answer 1]}", "text.contains[0]: the text does not contain", 2},
		{"max_tokens: 150", "max_tokens: the turn used 220 tokens", 2},
	} {
		asked := 0
		provider := &answering{answer: func(req *model.Request) string {
			if req.Model != "judge" {
				return fmt.Sprintf("answer %d", len(req.Messages)/2)
			}
			if asked++; asked > 2 {
				return "DONE"
			}
			return fmt.Sprintf("question %d", asked)
		}}
		s := newShop(t, provider)
		suite := loadCases(t, "c: {agent: clerk, models: live, user: {model_id: judge, goal: two answers}, expect: {"+c.expect+"}}")
		r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
		if len(r.Turns) != c.turns || !strings.HasPrefix(strings.Join(failures, "\n"), c.failure) || (c.failure == "") != (r.Status == evals.Passed) {
			t.Errorf("%s: %s: %q after %d turns", c.expect, r.Status, failures, len(r.Turns))
		}
	}
}

// TestASimulatedUserMustBegin has a user without messages and an expectation that no conversation
// meets.
func TestASimulatedUserMustBegin(t *testing.T) {
	t.Parallel()
	s := newShop(t, &answering{answer: func(*model.Request) string { return "DONE." }})
	suite := loadCases(t, "c: {agent: clerk, models: live, user: {model_id: judge, goal: nothing}, expect: {text: {contains: [x]}}}")
	r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
	if r.Status != evals.Errored || !strings.Contains(strings.Join(failures, "\n"), "before its first turn") {
		t.Errorf("%s: %q", r.Status, failures)
	}
}

// TestArgumentsThatAreNotJSONAreKept has a model write arguments that are not JSON.
func TestArgumentsThatAreNotJSONAreKept(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	suite := loadCases(t, "c: {agent: clerk, models: scripted, script: {replies: [{tool_calls: [{name: refund, arguments: '{bad'}]}, {text: done}]}, tools: {refund: {result: x}}, turns: [{prompt: hi}]}")
	r, _ := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
	if data, err := json.Marshal(r); err != nil || !strings.Contains(string(data), `"arguments":"{bad"`) {
		t.Errorf("%s, %v", data, err)
	}
}

// TestAFailedTurnFailsTheConversation fails the first of two turns, both expectedly and
// unexpectedly.
func TestAFailedTurnFailsTheConversation(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	for expect, want := range map[string]evals.Status{"": evals.Failed, ", expect: {status: failed}": evals.Errored} {
		suite := loadCases(t, "c: {agent: clerk, models: scripted, script: {replies: [{error: {class: invalid_request, message: no}}]}, turns: [{prompt: hi"+expect+"}, {prompt: more}]}")
		if r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite}); r.Status != want || len(failures) != 1 {
			t.Errorf("%s: %s: %q", expect, r.Status, failures)
		}
	}
}

// TestAJudgedCaseIsReplayed records a case with a judge and runs it without the provider.
func TestAJudgedCaseIsReplayed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const judged = "c: {agent: clerk, turns: [{prompt: hi, expect: {judges: [{type: model, model_id: judge, rubric: kind}, {type: model, model_id: judge, rubric: short}]}}]}"
	s := newShop(t, &answering{answer: func(req *model.Request) string {
		if req.Model == "judge" {
			return `{"scores":[{"score":5,"comment":"good"}]}`
		}
		return "fine"
	}})
	for _, runner := range []*evals.Runner{{Runtime: s.runtime, Mode: evals.ModeRecord}, {Runtime: newShop(t, unasked{t}).runtime}} {
		runner.Suite = loadCasesIn(t, dir, judged)
		if r, failures := only(t, runner); r.Status != evals.Passed {
			t.Errorf("%s: %s: %q", runner.Mode, r.Status, failures)
		}
	}
}

// TestAChangedCaseIsNotTakenFromEarlierResults changes a case's expectations between a run and its
// continuation.
func TestAChangedCaseIsNotTakenFromEarlierResults(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	suite := func(text string) *evals.Suite {
		return loadCases(t, "c: {agent: clerk, models: scripted, script: {fallback: {text: hi}}, turns: [{prompt: x, expect: {text: {equals: "+text+"}}}]}")
	}
	first := runAll(t, &evals.Runner{Runtime: s.runtime, Suite: suite("hi")})
	for text, want := range map[string]evals.Status{"hi": evals.Passed, "bye": evals.Failed, "sk-verysecret-0123456789": evals.Failed} {
		c := readCase(t, "c: {agent: clerk, models: scripted, script: {fallback: {text: hi}}, turns: [{prompt: x, expect: {text: {equals: "+text+"}}}]}")
		if got, _ := only(t, &evals.Runner{Runtime: s.runtime, Suite: evals.NewSuite(c), Done: first}); got.Status != want {
			t.Errorf("%s: the case is %s, want %s", text, got.Status, want)
		}
	}
}

// TestACaseThatTheBaselineLacksMustPass compares with results of another case.
func TestACaseThatTheBaselineLacksMustPass(t *testing.T) {
	t.Parallel()
	old, failed := &evals.Result{Case: "old", Repeat: 1, Status: evals.Passed}, &evals.Result{Case: "new", Repeat: 1, Status: evals.Failed}
	if evals.NewReport([]*evals.Result{old, failed}, []*evals.Result{old}, 0).Passed() {
		t.Error("a new case that fails passes")
	}
}

// TestNoTwoCasesShareRecordings has IDs whose recording names would collide.
func TestNoTwoCasesShareRecordings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: {agent: x, turns: [{prompt: x}]}\nA: {agent: x, turns: [{prompt: x}]}":         "duplicate-id",
		"a: {agent: x, turns: [{prompt: x}]}\na.judges: {agent: x, turns: [{prompt: x}]}":  "invalid-value",
		"a: {agent: x, turns: [{prompt: x}]}\na.b.tools: {agent: x, turns: [{prompt: x}]}": "invalid-value",
		"../a: {agent: x, turns: [{prompt: x}]}":                                           "invalid-value",
	} {
		if _, found := evals.Parse("cases.yaml", []byte("version: 1\ncases:\n"+indent(text))); len(found) != 1 || string(found[0].Code) != want {
			t.Errorf("%s: %v", text, found)
		}
	}
}

// TestWhatJudgesUseCountsOnce has a judge of a turn and a judge of the whole conversation, both
// with prices.
func TestWhatJudgesUseCountsOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, &answering{answer: func(req *model.Request) string {
		if len(req.Messages) > 0 && strings.Contains(req.Messages[0].Text(), "You grade") {
			return `{"scores":[{"score":5,"comment":"good"}]}`
		}
		return "fine"
	}})
	const judge = "judges: [{type: model, model_id: m, rubric: kind}]"
	suite := loadCases(t, "c: {agent: clerk, models: live, turns: [{prompt: hi, expect: {"+judge+"}}], expect: {max_tokens: 110, "+judge+"}}")
	r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
	if r.Status != evals.Passed || r.Usage.Total() != 330 || r.Turns[0].Usage.Total() != 110 || len(r.Turns[0].Verdicts) != 2 {
		t.Errorf("%s: %q: %+v", r.Status, failures, r)
	}
	if r.Cost == nil || r.Cost.String() != "0.00033 USD" {
		t.Errorf("it costs %v", r.Cost)
	}
}
