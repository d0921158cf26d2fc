package evals_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"pgregory.net/rapid"
)

// TestCallsAreAnsweredAsTheCaseSays covers the ways in which a case answers a call to the tool
// refund.
func TestCallsAreAnsweredAsTheCaseSays(t *testing.T) {
	t.Parallel()
	const twice = `
c:
  agent: clerk
  models: scripted
  script:
    replies:
      - {tool_calls: [{name: refund, arguments: {amount: 20}}, {name: refund, arguments: {amount: 30}}]}
      - {text: done}
  tools: {TOOLS}
  turns: [{prompt: go}]`
	for _, c := range []struct {
		tools string
		want  []string // the results, or the failure
		real  int64
	}{
		{"refund: {real: true}", []string{"refunded", "refunded"}, 2},
		{"refund: {result: ok}", []string{"ok", "ok"}, 0},
		{"refund: {result: {id: 1}}", []string{`{"id":1}`, `{"id":1}`}, 0},
		{"refund: {error: no money}", []string{"no money", "no money"}, 0},
		{"refund: {results: [a, b]}", []string{"a", "b"}, 0},
		{"refund: {results: [a]}", []string{"turn 1: tool refund: results has 1 results, and this is call 2"}, 0},
		{"refund: {by_arguments: [{when: (amount > 20), result: much}, {when: (amount <= 20), error: little}]}", []string{"little", "much"}, 0},
		{"refund: {by_arguments: [{when: (amount > 20), result: much}]}", []string{`turn 1: tool refund: by_arguments has no result for {"amount":20}`}, 0},
		{"refund: {replay: true}", []string{`turn 1: tool refund: no recorded result for {"amount":20}`}, 0},
		{"'re*': {real: true}", []string{`turn 1: tool refund: real: true of the glob "re*" does not let a tool with effect once run: name the tool`}, 0},
		{"'re*': {result: glob}", []string{"glob", "glob"}, 0},
		{"'re*': {result: glob}, refund: {result: exact}", []string{"exact", "exact"}, 0},
		{"'*': {real: true}, 'ref*': {result: longest}", []string{"longest", "longest"}, 0},
		{"lookup: {result: x}", []string{"turn 1: tool refund (effect once) is neither stubbed nor real: write tools: {refund: {result: …}}, or {real: true}"}, 0},
	} {
		t.Run(c.tools, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, unasked{t})
			r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: loadCases(t, strings.Replace(twice, "TOOLS", c.tools, 1))})
			var got []string
			if r.Status == evals.Errored {
				got = failures[:1]
			} else {
				for _, call := range r.Turns[0].Calls {
					got = append(got, call.Result)
				}
			}
			// Either of two concurrent calls may be reported.
			anyOfBoth := r.Status == evals.Errored && strings.HasPrefix(got[0], "turn 1: tool refund: ")
			if fmt.Sprint(got) != fmt.Sprint(c.want) && !anyOfBoth {
				t.Errorf("the results are %q, want %q", got, c.want)
			}
			if s.refunds.Load() != c.real {
				t.Errorf("the tool ran %d times", s.refunds.Load())
			}
		})
	}
}

// TestNothingWithEffectOnceRunsByAccident runs random scripts in random cases that do not permit
// refund, neither in the agent nor in a delegate.
func TestNothingWithEffectOnceRunsByAccident(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	rapid.Check(t, func(t *rapid.T) {
		var replies []string
		for range rapid.IntRange(1, 5).Draw(t, "replies") {
			var calls []string
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				calls = append(calls, rapid.SampledFrom([]string{
					`{name: refund, arguments: {amount: 5}}`, `{name: refund, arguments: {amount: 500}}`, `{name: lookup}`,
					`{name: agent_run_helper, arguments: {prompt: refund}}`, `{name: hand_off_to_helper}`, `{name: ask, arguments: {question: well}}`,
				}).Draw(t, "call"))
			}
			replies = append(replies, fmt.Sprintf("{text: x, tool_calls: [%s]}", strings.Join(calls, ", ")))
		}
		tools := rapid.SampledFrom([]string{"{}", "{lookup: {real: true}}", "{refund: {result: ok}}", "{refund: {results: [a]}}", "{'*': {error: no}}", "{'*': {real: true}}", "{'*fund': {real: true}, lookup: {result: x}}", "{'{refund,lookup}': {real: true}}", "{'refun[d]': {real: true}}", "{agent_run_helper: {real: true}}"}).Draw(t, "tools")
		answers := rapid.SampledFrom([]string{"[]", "[{approve: true}]", "[{tool: ask, text: yes}, {approve: true}]", "[{tool: refund, text: yes}]", "[{tool: refund, value: {approved: true}}]", "[{tool: refund, approve: true, arguments: {amount: 7}}]"}).Draw(t, "answers")
		suite := evals.NewSuite(readCase(t, fmt.Sprintf("c: {agent: clerk, models: scripted, script: {replies: [%s]}, tools: %s, answers: %s, turns: [{prompt: go}, {prompt: more}]}", strings.Join(replies, ", "), tools, answers)))
		if _, err := (&evals.Runner{Runtime: s.runtime, Suite: suite}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.refunds.Load(); n > 0 {
			t.Fatalf("refund ran %d times", n)
		}
	})
}

// TestConditionsHaveNoTool rejects conditions that would match no call, or every call.
func TestConditionsHaveNoTool(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"amount > 1", "refund(amount > 1)", "*", "fund"} {
		_, found := evals.Parse("cases.yaml", []byte("version: 1\ncases: {c: {agent: a, tools: {refund: {by_arguments: [{when: '"+when+"', result: x}]}}, turns: [{prompt: x}]}}"))
		if err := found.Err(); err == nil || !strings.Contains(err.Error(), "must be conditions in parentheses") {
			t.Errorf("%s: %v", when, err)
		}
	}
}
