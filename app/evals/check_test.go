package evals_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// TestUnknownReferencesAreFoundBeforeTheFirstCase checks the position and severity of each dangling
// reference.
func TestUnknownReferencesAreFoundBeforeTheFirstCase(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	for _, c := range []struct{ fields, want string }{
		{"agent: clerk, tools: {refund: {result: x}, 'agent_run_*': {real: true}}, turns: [{prompt: x, expect: {not_called: [lookup], delegates: [helper], final_agent: clerk}}]", ""},
		{"agent: clrk, turns: [{prompt: x}]", "error agent-not-found agent"},
		{"agent: clerk, tools: {refnd: {result: x}}, turns: [{prompt: x}]", "error tool-not-found tools.refnd"},
		{"agent: clerk, tools: {'ref_*': {result: x}}, turns: [{prompt: x}]", `warning unmatched-pattern tools["ref_*"]`},
		{"agent: clerk, turns: [{prompt: x, expect: {not_called: [refnd]}}]", "warning unmatched-tool turns[0].expect.not_called[0]"},
		{"agent: clerk, turns: [{prompt: x, expect: {calls: {calls: [{rule: 'refnd(amount > 1)'}]}}}]", "warning unmatched-tool turns[0].expect.calls.calls[0].rule"},
		{"agent: clerk, answers: [{tool: refnd, approve: true}], turns: [{prompt: x}]", "warning unmatched-tool answers[0].tool"},
		{"agent: clerk, answers: [{tool: 'ref*', approve: true}, {approve: false}], turns: [{prompt: x}]", ""},
		{"agent: clerk, turns: [{prompt: x, expect: {not_called: ['refund(amont > 1)']}}]", "warning invalid-condition turns[0].expect.not_called[0]"},
		{"agent: clerk, turns: [{prompt: x}], expect: {not_called: ['ref*(order > 1)']}", "warning invalid-condition expect.not_called[0]"},
		{"agent: clerk, turns: [{prompt: x, expect: {calls: {calls: [{rule: 'refund(amont > 1)'}]}}}]", "warning invalid-condition turns[0].expect.calls.calls[0].rule"},
		{"agent: clerk, tools: {refund: {by_arguments: [{when: (amount > 1), result: x}, {when: (amont > 1), result: x}]}}, turns: [{prompt: x}]", "warning invalid-condition tools.refund.by_arguments[1].when"},
		{"agent: clerk, tools: {'re*': {by_arguments: [{when: (amont > 1), result: x}]}}, turns: [{prompt: x}]", `warning invalid-condition tools["re*"].by_arguments[0].when`},
		{"agent: clerk, tools: {'*': {by_arguments: [{when: (amount > 1), result: x}, {when: (any > 1), result: x}]}}, turns: [{prompt: x, expect: {not_called: ['*(amount > 1)', 'invoice(any > 1)']}}]", ""},
		{"agent: clerk, turns: [{prompt: x}], expect: {handoffs: [nobody]}", "error agent-not-found expect.handoffs[0]"},
		{"agent: clerk, turns: [{prompt: x, expect: {delegates: [nobody]}}]", "error agent-not-found turns[0].expect.delegates[0]"},
		{"agent: clerk, turns: [{prompt: x, expect: {final_agent: nobody}}]", "error agent-not-found turns[0].expect.final_agent"},
		{"agent: clerk, turns: [{prompt: x, expect: {judges: [{type: model, model_id: jugde, rubric: x}]}}]", "error model-not-found turns[0].expect.judges[0].model_id"},
		{"agent: clerk, turns: [{prompt: x, expect: {judges: [{type: command, command: [./nowhere.sh]}]}}]", "error invalid-value turns[0].expect.judges[0].command"},
		{"agent: clerk, turns: [{prompt: x, attachments: [{path: nowhere.txt}]}]", "error invalid-value turns[0].attachments[0].path"},
		{"agent: clerk, user: {model_id: nobody, goal: x}", "error model-not-found user.model_id"},
	} {
		suite := loadCases(t, "c: {"+c.fields+"}")
		var got []string
		for _, d := range (&evals.Runner{Runtime: s.runtime, Suite: suite}).Check(t.Context()) {
			if d.Line != 3 || d.Column < 6 {
				t.Errorf("%v has no place", d)
			}
			if strings.Contains(d.Message, "refnd") && d.Hint != `did you mean "refund"?` {
				t.Errorf("%v has no hint", d)
			}
			got = append(got, fmt.Sprintf("%s %s %s", d.Severity, d.Code, strings.TrimPrefix(d.Path, "cases.c.")))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %q, want %q", c.fields, got, c.want)
		}
	}
}

// TestACeilingNeedsPrices checks a judge whose model has no price.
func TestACeilingNeedsPrices(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	const unpriced = "c: {agent: helper, turns: [{prompt: x, expect: {judges: [{type: model, model_id: judge, rubric: x}]}}]}"
	const priced = "c: {agent: clerk, turns: [{prompt: x}]}"
	for _, c := range []struct {
		suite   string
		mode    evals.Mode
		ceiling float64
		fails   bool
	}{
		{unpriced, evals.ModeLive, 1, true},
		{unpriced, evals.ModeRecord, 1, true},
		{unpriced, evals.ModeLive, 0, false},
		{unpriced, evals.ModeReplay, 1, false},
		{priced, evals.ModeLive, 1, false},
	} {
		r := &evals.Runner{Runtime: s.runtime, Suite: loadCases(t, c.suite), Mode: c.mode, MaxCost: c.ceiling}
		found := r.Check(t.Context())
		if found.HasErrors() != c.fails || c.fails && (found[0].Path != "cases.c.turns[0].expect.judges[0].model_id" || !strings.Contains(found[0].Message, `model "judge" has no pricing`)) {
			t.Errorf("%+v: %v", c, found)
		}
		if !c.fails {
			continue
		}
		if results, err := r.Run(t.Context()); err == nil || results != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestExpectationsThatNeverMatterAreReported checks parts of a case that have no effect or exclude
// each other.
func TestExpectationsThatNeverMatterAreReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fields, path string }{
		{"script: {}, turns: [{prompt: x}]", "script"},
		{"turns: [{prompt: x, script: {}}]", "turns[0].script"},
		{"turns: [{prompt: x, expect: {status: failed}}, {prompt: x, expect: {text: {contains: [a]}}}]", "turns[1]"},
		{"turns: [{prompt: x, expect: {status: waiting}}], user: {model_id: m, goal: x}", "user"},
		{"answers: [{approve: true}, {tool: refund, approve: false}], turns: [{prompt: x}]", "answers[1]"},
		{"turns: [{prompt: x, expect: {calls: {calls: []}}}]", "turns[0].expect.calls"},
		{"turns: [{prompt: x}], expect: {not_called: []}", "expect.not_called"},
		{"turns: [{prompt: x}], expect: {delegates: []}", "expect.delegates"},
		{"turns: [{prompt: x}], expect: {artifacts: []}", "expect.artifacts"},
		{"turns: [{prompt: x}], expect: {judges: []}", "expect.judges"},
		{"turns: [{prompt: x}], expect: {text: {}}", "expect.text"},
		{"turns: [{prompt: x}], expect: {output: {}}", "expect.output"},
		{"turns: [{prompt: x}], expect: {state: {}}", "expect.state"},
		{"turns: [{prompt: x}], expect: {judges: [{type: command, command: [x], pass: 0}]}", "expect.judges[0].pass"},
		{"turns: [{prompt: x}], expect: {handoffs: [a, b], final_agent: a}", "expect.final_agent"},
		{"turns: [{prompt: x}], expect: {termination: 'budget_exceeded:tokens'}", "expect.termination"},
		{"turns: [{prompt: x}], expect: {calls: {calls: [{rule: 'refund(a == 1)'}]}, not_called: [x, 're*']}", "expect.calls.calls[0]"},
		{"turns: [{prompt: x}], expect: {text: {contains: ['']}}", "expect.text.contains[0]"},
		{"turns: [{prompt: x}], expect: {text: {contains: [Refunded], not_contains: [refund]}}", "expect.text.contains[0]"},
		{"turns: [{prompt: x}], expect: {text: {equals: done, contains: [refund]}}", "expect.text.contains[0]"},
		{"turns: [{prompt: x}], expect: {text: {equals: done, not_contains: [on]}}", "expect.text.not_contains[0]"},
		{"turns: [{prompt: x}], expect: {calls: {match: exact, calls: []}, handoffs: []}", ""},
		{"turns: [{prompt: x}], expect: {status: failed, termination: budget_exceeded, calls: {calls: [{rule: 'refund(a == 1)'}]}, not_called: ['refund(a > 1)']}", ""},
		{"answers: [{tool: refund, approve: true}, {approve: false}], turns: [{prompt: x}], expect: {text: {equals: Done., contains: [done], not_contains: [no]}}", ""},
	} {
		_, found := evals.Parse("cases.yaml", []byte("version: 1\ncases:\n  c: {agent: a, "+c.fields+"}\n"))
		var got []string
		for _, d := range found {
			got = append(got, strings.TrimPrefix(d.Path, "cases.c."))
		}
		if strings.Join(got, " ") != c.path || found.HasErrors() {
			t.Errorf("%s: %v, want %s", c.fields, found, c.path)
		}
	}
}

// TestWhatDecidesAResultIsNotTakenFromEarlierResults makes one change at a time between a run and
// its continuation.
func TestWhatDecidesAResultIsNotTakenFromEarlierResults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newShop(t, &answering{answer: func(*model.Request) string { return "fine" }})
	const cases = "c: {agent: clerk, turns: [{prompt: hi, attachments: [{path: note.txt}], expect: {judges: [{type: command, command: [sh, grade.sh]}]}}]}"
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("note.txt", "a note")
	write("grade.sh", `echo '{"score": 1}'`)
	write("tool.sh", "echo 1")
	write("data.json", "1")
	tool := program{[]string{"sh", "tool.sh", "--data=data.json"}, dir}
	configured := &config.File{Tools: []config.Entry[tools.Kind]{{ID: "price", Config: tool}}}
	suite := loadCasesIn(t, dir, cases)
	runAll(t, &evals.Runner{Runtime: s.runtime, Suite: suite, Mode: evals.ModeRecord})
	recording, err := os.ReadFile(filepath.Join(dir, "recordings", "c.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func()
		mode   evals.Mode
		again  bool
	}{
		{"nothing", func() {}, evals.ModeReplay, false},
		{"the mode", func() {}, evals.ModeLive, true},
		{"the recording", func() { write("recordings/c.jsonl", strings.Replace(string(recording), "fine", "good", 1)) }, evals.ModeReplay, true},
		{"the recording of judges", func() { write("recordings/c.judges.jsonl", "") }, evals.ModeReplay, true},
		{"the program of the judge", func() { write("grade.sh", `echo '{"score": 0}'`) }, evals.ModeReplay, true},
		{"the attachment", func() { write("note.txt", "another note") }, evals.ModeReplay, true},
		{"the results of tools", func() { write("recordings/c.tools.jsonl", "") }, evals.ModeReplay, true},
		{"the script of a tool", func() { write("tool.sh", "echo 2") }, evals.ModeReplay, true},
		{"the data of a tool", func() { write("data.json", "2") }, evals.ModeReplay, true},
	} {
		first := runAll(t, &evals.Runner{Runtime: s.runtime, Suite: suite, Config: configured})
		first[0].Status = evals.Passed // any status except an error
		c.change()
		again := runAll(t, &evals.Runner{Runtime: s.runtime, Suite: suite, Mode: c.mode, Done: first, Config: configured})
		if ran := again[0] != first[0]; ran != c.again {
			t.Errorf("%s changed: the case runs again: %v", c.name, ran)
		}
	}
}

// program is the configuration of a component that runs a program.
type program struct {
	command []string
	dir     string
}

// Program returns the program and its directory.
func (p program) Program() (command []string, dir string) { return p.command, p.dir }

// TestASlowJudgeIsNamed runs a program that exceeds its timeout.
func TestASlowJudgeIsNamed(t *testing.T) {
	t.Parallel()
	s := newShop(t, unasked{t})
	begun := time.Now()
	suite := loadCases(t, "c: {agent: clerk, models: scripted, script: {}, turns: [{prompt: hi, expect: {judges: [{type: command, name: slow, command: [sleep, '60'], timeout: 50ms}]}}]}")
	r, failures := only(t, &evals.Runner{Runtime: s.runtime, Suite: suite})
	if r.Status != evals.Errored || len(failures) != 1 || !strings.HasSuffix(failures[0], "judge slow: no answer within 50ms") || time.Since(begun) > 30*time.Second {
		t.Errorf("%s: %q", r.Status, failures)
	}
}

// TestRemovedCasesAreListed compares with a baseline that has another case, and with a baseline
// that has an unselected case.
func TestRemovedCasesAreListed(t *testing.T) {
	t.Parallel()
	suite := loadCases(t, "a: {agent: x, turns: [{prompt: x}]}\nb: {agent: x, turns: [{prompt: x}]}")
	suite.Select(func(c *evals.Case) bool { return c.ID == "a" })
	before := []*evals.Result{{Case: "a"}, {Case: "b"}, {Case: "gone"}, {Case: "gone", Repeat: 2}}
	if gone := suite.Removed(before); strings.Join(gone, " ") != "gone" {
		t.Errorf("%q", gone)
	}
}
