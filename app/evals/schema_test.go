package evals_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// validateCases validates a case file against the published schema.
func validateCases(t *testing.T, text string) error {
	t.Helper()
	read := func(data []byte) any {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("cases.json", read(evals.Schema())); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(read(data))
}

// TestTheSchemaAcceptsWhatEvalReads validates the cases in the examples and on the page, and one
// case per expectation.
func TestTheSchemaAcceptsWhatEvalReads(t *testing.T) {
	t.Parallel()
	var all []string
	files, err := filepath.Glob("../../examples/*/evals/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	page, err := os.ReadFile("../../docs/guides/evals.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		all = append(all, block[1])
	}
	if len(all) == 0 {
		t.Error("the page has no cases")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	for _, c := range eachExpectation {
		all = append(all, "version: 1\ncases:\n"+indent(strings.Replace(c.suite, "FIELDS", c.passes, 1)))
	}
	for _, judge := range []string{
		"{type: model, model_id: m, rubric: x, criteria: [a], scale: 3, votes: 3, pass: 0.5}", "{type: command, command: [x], timeout: 1s}", "{type: http, url: 'https://x'}",
	} {
		all = append(all, "version: 1\ncases: {c: {agent: a, turns: [{prompt: x, expect: {judges: ["+judge+"]}}]}}")
	}
	for _, text := range all {
		if _, found := evals.Parse("cases.yaml", []byte(text)); found.HasErrors() {
			t.Errorf("%v\n%s", found, text)
		}
		if err := validateCases(t, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// TestTheSchemaRejectsWhatEvalRejects makes mistakes in conditional and other fields.
func TestTheSchemaRejectsWhatEvalRejects(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{
		"turns: [{prompt: x}]",
		"agent: a, turns: [{promt: x}]",
		"agent: a, models: scripted, turns: [{prompt: x}]",
		"agent: a, models: recorded, turns: [{prompt: x}]",
		"agent: a, turns: [{prompt: x}], user: {goal: x}",
		"agent: a, turns: [{prompt: x}], user: {model_id: m, goal: x, max_turns: 0}",
		"agent: a, turns: [{prompt: x, attachments: [{media_type: text/plain}]}]",
		"agent: a, turns: [{prompt: x, expect: {status: done}}]",
		"agent: a, turns: [{prompt: x, expect: {calls: {}}}]",
		"agent: a, turns: [{prompt: x, expect: {calls: {match: some, calls: []}}}]",
		"agent: a, turns: [{prompt: x, expect: {calls: {calls: [{outcome: failed}]}}}]",
		"agent: a, turns: [{prompt: x, expect: {max_steps: 0}}]",
		"agent: a, turns: [{prompt: x, expect: {judges: [{model_id: m, rubric: x}]}}]",
		"agent: a, turns: [{prompt: x, expect: {judges: [{type: model, model_id: m}]}}]",
		"agent: a, turns: [{prompt: x, expect: {judges: [{type: command}]}}]",
		"agent: a, turns: [{prompt: x, expect: {judges: [{type: http}]}}]",
		"agent: a, turns: [{prompt: x, expect: {judges: [{type: http, url: 'https://x', rubric: x}]}}]",
		"agent: a, turns: [{prompt: x, expect: {judges: [{type: model, model_id: m, rubric: x, timeout: 1s}]}}]",
		"agent: a, turns: [{prompt: x, expect: {judges: [{type: model, model_id: m, rubric: x, pass: 2}]}}]",
		"agent: a, tools: {t: {by_arguments: [{result: x}]}}, turns: [{prompt: x}]",
		"agent: a, session_start: maybe, turns: [{prompt: x}]",
	} {
		text := "version: 1\ncases: {c: {" + fields + "}}"
		if _, found := evals.Parse("cases.yaml", []byte(text)); !found.HasErrors() {
			t.Errorf("eval accepts %s", fields)
		}
		if validateCases(t, text) == nil {
			t.Errorf("the schema accepts %s", fields)
		}
	}
}
