package evals_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/evals"
)

// refund is a case whose turn looks an order up and refunds it; FIELDS takes what the turn
// is expected to do.
const refund = `
refund:
  agent: clerk
  models: scripted
  state: {visits: 3}
  script:
    replies:
      - {tool_calls: [{name: lookup, arguments: {order: "7"}}]}
      - {tool_calls: [{name: refund, arguments: {order: "7", amount: 20}}]}
      - {text: '{"refunded": 20}'}
  tools: {refund: {result: done}}
  turns:
    - prompt: Refund order 7.
      expect: {FIELDS}`

// delegation is a case whose turn delegates and then hands over.
const delegation = `
delegation:
  agent: clerk
  models: scripted
  script:
    replies:
      - {match: Start, tool_calls: [{name: agent_run_helper, arguments: {prompt: Look}}]}
      - {match: Look, text: I looked.}
      - {match: I looked, tool_calls: [{name: hand_off_to_helper}]}
    fallback: {text: I take over.}
  turns:
    - prompt: Start
      expect: {FIELDS}`

// invoice is a case whose turn makes an artifact.
const invoice = `
invoice:
  agent: clerk
  models: scripted
  script: {replies: [{tool_calls: [{name: invoice}]}, {text: Here it is.}]}
  turns: [{prompt: An invoice please, expect: {FIELDS}}]`

// eachExpectation lists the kinds of expectations: each with one that the turn meets, one that it
// fails, and the failure.
var eachExpectation = []struct{ suite, passes, fails, failure string }{
	{refund, "status: succeeded", "status: failed", "status: the turn is succeeded, not failed"},
	{refund, "termination: natural_end", "termination: 'budget_exceeded:tokens'", "termination: the turn ended by natural_end"},
	{refund, "final_agent: clerk", "final_agent: helper", "final_agent: clerk has the conversation"},
	{refund, "calls: {calls: [{rule: 'refund(amount < 21)'}]}", "calls: {calls: [{rule: 'refund(amount < 20)'}]}", "calls.calls[0]: no call is refund(amount < 20)"},
	{refund, "calls: {match: exact, calls: [{rule: lookup}, {rule: refund}]}", "calls: {match: exact, calls: [{rule: refund}, {rule: lookup}]}", "calls.calls[0]: call 1 is not refund"},
	{refund, "calls: {match: exact, calls: [{rule: 'l*'}, {rule: 'r*', outcome: succeeded}]}", "calls: {match: exact, calls: [{rule: lookup}]}", "calls: there are 2 calls, not 1"},
	{refund, "calls: {match: any_order, calls: [{rule: refund}, {rule: lookup}]}", "calls: {match: any_order, calls: [{rule: refund}]}", `calls: lookup{"order":"7"} was not expected`},
	{refund, "calls: {match: any_order, calls: [{rule: '*'}, {rule: lookup}]}", "calls: {calls: [{rule: lookup}, {rule: lookup}]}", "calls.calls[1]: no call is lookup"},
	{refund, "calls: {calls: [{rule: refund, schema: {properties: {amount: {maximum: 20}}}}]}", "calls: {calls: [{rule: refund, schema: {properties: {amount: {maximum: 5}}}}]}", "calls.calls[0]: no call is refund"},
	{refund, "not_called: ['refund(amount > 100)']", "not_called: ['refund(amount > 10)']", "not_called[0]: refund"},
	{delegation, "delegates: [helper]", "delegates: [clerk]", "delegates[0]: clerk did not run as a delegate"},
	{delegation, "handoffs: [helper], final_agent: helper", "handoffs: []", "handoffs: the conversation was handed to helper, not to nobody"},
	{refund, `text: {equals: '{"refunded": 20}'}`, "text: {equals: no}", "text.equals: the text is"},
	{refund, "text: {contains: [REFUNDED]}", "text: {contains: [sorry]}", `text.contains[0]: the text does not contain "sorry"`},
	{refund, "text: {not_contains: [sorry]}", "text: {not_contains: [Refunded]}", "text.not_contains[0]: the text contains"},
	{refund, "text: {matches: ['[0-9]+']}", "text: {matches: ['^[0-9]+$']}", "text.matches[0]: the text does not match"},
	{refund, "output: {equals: {refunded: 20.0}}", "output: {equals: {refunded: 21}}", "output.equals: it is"},
	{refund, "output: {schema: {type: object}}", "output: {schema: {required: [reason]}}", "output.schema: "},
	{refund, "state: {equals: {visits: 3}}", "state: {equals: {visits: 4}}", "state.equals: it is"},
	{refund, "artifacts: []", "artifacts: [{name: 'invoice*'}]", "artifacts[0]: no artifact matches; the artifacts are none"},
	{invoice, "artifacts: [{name: 'invoice*', media_type: text/plain, contains: 20 EUR}]", "artifacts: [{name: 'invoice*', contains: 21 EUR}]", "artifacts[0]: no artifact matches; the artifacts are invoice-7.txt"},
	{refund, "max_steps: 3", "max_steps: 2", "max_steps: the turn took 3 steps"},
	{refund, "max_tokens: 100000", "max_tokens: 3", "max_tokens: the turn used"},
	{refund, "max_cost: 1", "max_cost: 0.00000001", "max_cost: the turn cost"},
	{refund, "max_latency: 1h", "max_latency: 1ns", "max_latency: the turn took"},
}

func TestEachExpectationPassesAndFails(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{"judges": true} // by TestJudges
	for _, c := range eachExpectation {
		kind, _, _ := strings.Cut(c.fails, ":")
		tested[kind] = true
		t.Run(c.passes, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, unasked{t})
			run := func(fields string) (*evals.Result, []string) {
				return only(t, &evals.Runner{Runtime: s.runtime, Suite: loadCases(t, strings.Replace(c.suite, "FIELDS", fields, 1))})
			}
			if r, failures := run(c.passes); r.Status != evals.Passed {
				t.Errorf("%s: %s: %q", c.passes, r.Status, failures)
			}
			if r, failures := run(c.fails); r.Status != evals.Failed || len(failures) != 1 || !strings.HasPrefix(failures[0], "turn 1: "+c.failure) {
				t.Errorf("%s: %s: %q, want %q", c.fails, r.Status, failures, c.failure)
			}
		})
	}
	fields := reflect.TypeFor[evals.Expectations]()
	for i := range fields.NumField() {
		if name := fields.Field(i).Tag.Get("json"); !tested[name] {
			t.Errorf("no case expects %s", name)
		}
	}
}
