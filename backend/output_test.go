package backend_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/spec"
)

func TestAnAnswerHasItsForm(t *testing.T) {
	form, err := backend.NewOutputForm(&spec.OutputSchema{Schema: []byte(`{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if form.Spec.Name != spec.DefaultOutputName {
		t.Errorf("its name is %q", form.Spec.Name)
	}
	for _, tt := range []struct{ answer, value, problem string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{" {\"a\":1}\n", `{"a":1}`, ""},
		{"```json\n{\"a\":1}\n```", `{"a":1}`, ""},
		{"```\n{\"a\":1}```", `{"a":1}`, ""},
		{"```{\"a\":1}```", "```{\"a\":1}```", "not a JSON value"},
		{"```json\n{\"a\":1}", "```json\n{\"a\":1}", "not a JSON value"},
		{`{"a":"x"}`, `{"a":"x"}`, "a"},
		{`{}`, `{}`, "a"},
		{`{"a":1} and more`, `{"a":1} and more`, "not a JSON value"},
		{``, ``, "not a JSON value"},
	} {
		value, problem := form.Check(t.Context(), tt.answer)
		if value != tt.value || (problem == "") != (tt.problem == "") || !strings.Contains(problem, tt.problem) {
			t.Errorf("%q: value %q, problem %q", tt.answer, value, problem)
		}
	}
}
