package evals_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/model"
	"go.yaml.in/yaml/v4"
)

// refund is a case whose turn looks up an order and refunds it; FIELDS is replaced by the
// expectations.
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

// trouble is a case whose tool and model fail.
const trouble = `
trouble:
  agent: clerk
  models: scripted
  script: {replies: [{tool_calls: [{name: refund, arguments: {amount: 20}}]}, {error: {class: invalid_request, message: no}}]}
  tools: {refund: {error: no money}}
  turns: [{prompt: Refund order 7., expect: {FIELDS}}]`

// canceled is a case whose turn is canceled by its model, as a peer might.
const canceled = `
canceled:
  agent: clerk
  models: scripted
  script: {replies: [{error: {class: cancelled, message: stopped}}]}
  turns: [{prompt: Refund order 7., expect: {FIELDS}}]`

// approval is a case whose turn waits for an approval.
const approval = `
approval:
  agent: clerk
  models: scripted
  script: {replies: [{tool_calls: [{name: refund, arguments: {amount: 500}}]}]}
  tools: {refund: {result: done}}
  turns: [{prompt: Refund order 7., expect: {FIELDS}}]`

// eachExpectation lists the kinds of expectations: each with a passing example, a failing example,
// and the failure.
var eachExpectation = []struct{ suite, passes, fails, failure string }{
	{refund, "status: succeeded", "status: failed", "status: the turn is succeeded, not failed"},
	{trouble, "status: failed", "status: succeeded", "status: the turn is failed, not succeeded"},
	{canceled, "status: canceled", "status: canceled, termination: blocked", "termination: the turn ended by cancelled"},
	{approval, "status: waiting", "status: waiting, text: {equals: never}", "text.equals: the text is"},
	{refund, "status: succeeded", "status: waiting", "status: the turn is succeeded, not waiting"},
	{refund, "termination: natural_end", "termination: 'budget_exceeded:tokens'", "termination: the turn ended by natural_end"},
	{refund, "final_agent: clerk", "final_agent: helper", "final_agent: clerk has the conversation"},
	{refund, "calls: {calls: [{rule: 'refund(amount < 21)'}]}", "calls: {calls: [{rule: 'refund(amount < 20)'}]}", "calls.calls[0]: no call is refund(amount < 20)"},
	{refund, "calls: {match: exact, calls: [{rule: lookup}, {rule: refund}]}", "calls: {match: exact, calls: [{rule: refund}, {rule: lookup}]}", `calls.calls[0]: call 1, lookup{"order":"7"}, is not refund; the calls are lookup`},
	{refund, "calls: {match: exact, calls: [{rule: 'l*'}, {rule: 'r*', outcome: succeeded}]}", "calls: {match: exact, calls: [{rule: lookup}]}", `calls: refund{"order":"7","amount":20} was not expected`},
	{refund, "calls: {match: any_order, calls: [{rule: refund}, {rule: lookup}]}", "calls: {match: any_order, calls: [{rule: refund}]}", `calls: lookup{"order":"7"} was not expected`},
	{refund, "calls: {match: any_order, calls: [{rule: '*'}, {rule: lookup}]}", "calls: {calls: [{rule: lookup}, {rule: lookup}]}", `calls.calls[1]: no call meets it: lookup{"order":"7"} is already calls[0]`},
	{refund, "calls: {calls: [{rule: refund, schema: {properties: {amount: {maximum: 20}}}}]}", "calls: {calls: [{rule: refund, schema: {properties: {amount: {maximum: 5}}}}]}", `calls.calls[0]: no call meets it: refund{"order":"7","amount":20} does not satisfy the schema: amount: `},
	{refund, "calls: {match: subset, calls: [{rule: refund, outcome: succeeded}]}", "calls: {match: subset, calls: [{rule: refund, outcome: failed}]}", `calls.calls[0]: no call meets it: refund{"order":"7","amount":20} has the outcome succeeded, not failed`},
	{trouble, "status: failed, calls: {calls: [{rule: refund, outcome: failed}]}", "status: failed, calls: {calls: [{rule: refund, outcome: succeeded}]}", `calls.calls[0]: no call meets it: refund{"amount":20} (failed) has the outcome failed, not succeeded`},
	{refund, "calls: {match: exact, calls: [{rule: lookup}, {rule: refund}]}", "calls: {match: exact, calls: [{rule: lookup}, {rule: refund}, {rule: 'l*'}]}", "calls.calls[2]: call 3, l*, is missing; the calls are lookup"},
	{refund, "not_called: ['refund(amount > 100)']", "not_called: ['refund(amount > 10)']", "not_called[0]: refund"},
	{delegation, "delegates: [helper]", "delegates: [clerk]", "delegates[0]: clerk did not run as a delegate; helper did"},
	{delegation, "handoffs: [helper], final_agent: helper", "handoffs: [clerk]", "handoffs: the conversation was handed to helper, not to clerk"},
	{refund, `text: {equals: '{"refunded": 20}'}`, "text: {equals: no}", "text.equals: the text is"},
	{refund, "text: {contains: [REFUNDED]}", "text: {contains: [sorry]}", `text.contains[0]: the text does not contain "sorry"`},
	{refund, "text: {not_contains: [sorry]}", "text: {not_contains: [Refunded]}", "text.not_contains[0]: the text contains"},
	{refund, "text: {matches: ['[0-9]+']}", "text: {matches: ['^[0-9]+$']}", "text.matches[0]: the text does not match"},
	{refund, "output: {equals: {refunded: 20.0}}", "output: {equals: {refunded: 21}}", "output.equals: it is"},
	{refund, "output: {schema: {type: object}}", "output: {schema: {required: [reason]}}", "output.schema: "},
	{refund, "state: {schema: {required: [visits]}}", "state: {schema: {required: [name]}}", "state.schema: "},
	{refund, "state: {equals: {visits: 3}}", "state: {equals: {visits: 4}}", "state.equals: it is"},
	{refund, "artifacts: []", "artifacts: [{name: 'invoice*'}]", "artifacts[0]: no artifact matches; the turn made none"},
	{invoice, "artifacts: [{name: 'invoice*', media_type: text/plain, contains: 20 EUR}]", "artifacts: [{name: 'invoice*', media_type: text/plain, contains: 21 EUR}]", "artifacts[0]: no artifact matches; the turn made invoice-7.txt"},
	{refund, "max_steps: 3", "max_steps: 2", "max_steps: the turn took 3 steps"},
	{refund, "max_tokens: 100000", "max_tokens: 3", "max_tokens: the turn used"},
	{refund, "max_cost: 1", "max_cost: 0.00000001", "max_cost: the turn cost"},
	{refund, "max_latency: 1h", "max_latency: 1ns", "max_latency: the turn took"},
	{refund, "judges: [{type: model, model_id: judge, rubric: polite, pass: 0.5}]", "judges: [{type: model, model_id: judge, rubric: polite, pass: 0.6}]", "judges[0]: judge model gives 0.50: because"},
	{refund, "judges: [{type: model, model_id: judge, rubric: polite, criteria: [short], scale: 3, votes: 3}]", "judges: [{type: model, model_id: judge, rubric: polite, criteria: [short], scale: 9, votes: 3}]", "judges[0]: judge model gives 0.25: because"},
	{refund, `judges: [{type: command, name: strict, command: [echo, '{"score": 1}'], timeout: 1m}]`, `judges: [{type: command, name: strict, command: [echo, '{"score": 0.1, "comment": "no"}'], timeout: 1m}]`, "judges[0]: judge strict gives 0.10: no"},
	{refund, "judges: [{type: http, url: 'http://judge.example/0.7'}]", "judges: [{type: http, url: 'http://judge.example/0.6'}]", "judges[0]: judge http gives 0.60: as the path says"},
}

func TestEachExpectationPassesAndFails(t *testing.T) {
	t.Parallel()
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"score": %s, "comment": "as the path says"}`, strings.TrimPrefix(r.URL.Path, "/"))
	}))
	t.Cleanup(judge.Close)
	for _, c := range eachExpectation {
		t.Run(c.fails, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, &answering{answer: func(*model.Request) string { return `{"scores":[{"score":3,"comment":"because"}]}` }})
			run := func(fields string) (*evals.Result, []string) {
				text := strings.ReplaceAll(strings.Replace(c.suite, "FIELDS", fields, 1), "http://judge.example", judge.URL)
				return only(t, &evals.Runner{Runtime: s.runtime, Suite: loadCases(t, text), Mode: evals.ModeLive})
			}
			if r, failures := run(c.passes); r.Status != evals.Passed {
				t.Errorf("%s: %s: %q", c.passes, r.Status, failures)
			}
			if r, failures := run(c.fails); r.Status != evals.Failed || len(failures) != 1 || !strings.HasPrefix(failures[0], "turn 1: "+c.failure) {
				t.Errorf("%s: %s: %q, want %q", c.fails, r.Status, failures, c.failure)
			}
		})
	}
}

// TestEachFieldOfExpectationsIsTested requires a passing and a failing case for every field of
// expectations and every enumeration value.
func TestEachFieldOfExpectationsIsTested(t *testing.T) {
	t.Parallel()
	passes, fails := map[string]bool{}, map[string]bool{}
	for _, c := range eachExpectation {
		noteFields(t, passes, c.passes)
		noteFields(t, fails, c.fails)
	}
	for _, field := range fieldsOf(reflect.TypeFor[evals.Expectations](), "") {
		if !passes[field] || !fails[field] {
			t.Errorf("%s: in a case that passes: %t, in one that fails: %t", field, passes[field], fails[field])
		}
	}
}

// fieldsOf returns the paths of a type's fields, and field=value for enumerations.
func fieldsOf(of reflect.Type, at string) (list []string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	for f := range of.Fields() {
		path := strings.TrimPrefix(at+"."+f.Tag.Get("json"), ".")
		if enum := f.Tag.Get("enum"); enum != "" {
			for value := range strings.SplitSeq(enum, "|") {
				list = append(list, path+"="+value)
			}
			continue
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == of.PkgPath() {
			list = append(list, fieldsOf(inner, path)...)
			continue
		}
		list = append(list, path)
	}
	return list
}

// noteFields notes the paths of the fields in a text, and field=value.
func noteFields(t *testing.T, seen map[string]bool, text string) {
	t.Helper()
	var note func(at string, v any)
	note = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				note(strings.TrimPrefix(at+"."+key, "."), value)
			}
		case []any:
			for _, one := range v {
				note(at, one)
			}
		}
		seen[at], seen[fmt.Sprintf("%s=%v", at, v)] = true, true
	}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte("{"+text+"}"), &fields); err != nil {
		t.Fatal(err)
	}
	note("", fields)
}
