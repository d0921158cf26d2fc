package evals_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
)

// FuzzParse parses arbitrary bytes as a case file. Nothing panics, and an invalid file has an error
// with a position.
func FuzzParse(f *testing.F) {
	f.Add([]byte("version: 1\ncases:\n  c: {agent: a, turns: [{prompt: hi, expect: {text: {matches: ['[']}}}]}\n"))
	f.Add([]byte("version: 1\ncases:\n  c: {agent: a, models: scripted, script: {replies: [{text: x}]}, tools: {'[': {result: 1}}, turns: [{prompt: x}]}\n"))
	f.Add([]byte("cases: {c: null}"))
	f.Add([]byte(refund))
	f.Fuzz(func(t *testing.T, data []byte) {
		suite, found := evals.Parse("cases.yaml", data)
		for _, d := range found.Errors() {
			if d.File != "cases.yaml" || d.Line == 0 {
				t.Errorf("%v has no place", d)
			}
		}
		for _, c := range suite.Cases {
			if list := c.Validate(); list.HasErrors() && !found.HasErrors() {
				t.Errorf("case %s: %v", c.ID, list)
			}
		}
	})
}
