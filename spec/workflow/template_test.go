package workflow_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec/workflow"
	"pgregory.net/rapid"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	scope := &workflow.Scope{
		Input:   decoded(t, `{"item":{"id":"item-1","count":3,"tags":["a","b"],"odd name":true},"none":null}`),
		Signal:  decoded(t, `{"type":"item.updated","data":{"x":1.50}}`),
		Outputs: map[string]any{"fetch": decoded(t, `{"rows":[{"n":10}]}`)},
		Inputs:  map[string]any{"day": "Monday"},
	}
	for _, tt := range []struct{ text, want string }{
		{"plain", "plain"},
		{"", ""},
		{"item ${{ input.item.id }}!", "item item-1!"},
		{"${{input.item.id}}${{ input.item.count }}", "item-13"},
		{"${{ input.item.tags[1] }} and ${{ input.item.tags }}", `b and ["a","b"]`},
		{`${{ input.item["odd name"] }}.`, "true."},
		{"${{ signal.data.x }} of ${{ signal.type }}", "1.50 of item.updated"},
		{"${{ steps.fetch.outputs.rows[0].n }} on ${{ inputs.day }}", "10 on Monday"},
		{"${{ input.none }} is null", "null is null"},
		{"costs $5 and $${{ 3 }}", "costs $5 and ${{ 3 }}"},
	} {
		parsed, err := workflow.ParseTemplate(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got, err := parsed.Evaluate(scope); err != nil || got != tt.want {
			t.Errorf("%q is %q (%v), want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestTemplatesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"${{ input.x":                  "lacks its closing",
		"${{ }}":                       "a reference is empty",
		"${{ secrets.x }}":             "begins with none of input, inputs, signal and steps",
		"${{ steps.a }}":               "does not name the outputs",
		"${{ steps.a.result.x }}":      "does not name the outputs",
		"${{ inputs }}":                "names no input",
		"${{ input..x }}":              "a name is empty",
		"${{ input.x y }}":             "a dot is required",
		"${{ input[-1] }}":             "not a position",
		"${{ input[01] }}":             "not a position",
		`${{ input["x }}`:              "no closing quote",
		"${{ input[1 }}":               "no closing bracket",
		"${{ input.x + 1 }}":           "a dot is required",
		"${{ input.x }} ${{ input.é% ": "lacks its closing",
	} {
		if _, err := workflow.ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}

func TestAReferenceThatLeadsToNothingIsNamed(t *testing.T) {
	t.Parallel()
	scope := &workflow.Scope{Input: decoded(t, `{"list":[1]}`)}
	for _, text := range []string{"${{ input.x }}", "${{ input.list[1] }}", "${{ input.list.x }}", "${{ steps.a.outputs }}", "${{ inputs.x }}", "${{ signal.x }}"} {
		parsed, err := workflow.ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parsed.Evaluate(scope)
		if missing := new(workflow.MissingError); !errors.As(err, &missing) || missing.Ref.String() != strings.TrimSpace(strings.Trim(text, "${}")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A template that is written reads as the same template.
func TestPropertyTemplatesReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune(`$${{}} input.steps.a.outputs["x]0é`+"\n")), 0, 40, -1).Draw(t, "text")
		checkRoundTrip(t, text)
	})
}

// What a template has besides references stays as it is.
func TestPropertyPlainTextStaysAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.String().Draw(t, "before"), rapid.String().Draw(t, "after")
		if strings.Contains(before+after, "${{") || strings.HasSuffix(before, "$") {
			t.Skip("has references of its own")
		}
		parsed, err := workflow.ParseTemplate(before + "${{ input }}" + after)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Evaluate(&workflow.Scope{Input: "x"})
		if err != nil || got != before+"x"+after {
			t.Fatalf("%q and %q: %q (%v)", before, after, got, err)
		}
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func checkRoundTrip(t fataler, text string) {
	parsed, err := workflow.ParseTemplate(text)
	if err != nil {
		return
	}
	written := parsed.String()
	again, err := workflow.ParseTemplate(written)
	if err != nil || again.String() != written || len(again.Refs()) != len(parsed.Refs()) {
		t.Fatalf("%q is written as %q, which reads as %q (%v)", text, written, again.String(), err)
	}
	for i, ref := range parsed.Refs() {
		if ref.String() != again.Refs()[i].String() {
			t.Fatalf("%q: reference %d is %s, and %s when it is read again", text, i, ref, again.Refs()[i])
		}
	}
}

func FuzzParseTemplate(f *testing.F) {
	for _, text := range []string{"", "a ${{ input.x }}", "$${{ x }}", "${{ steps.a.outputs.x[0][\"y\"] }}", "${{ input[", "$$${{ input }}${{", "${{ input[\"}}\"] }}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkRoundTrip(t, text)
		raw, err := json.Marshal(text)
		if err != nil {
			return
		}
		if v, found := workflow.ParseValue(raw); len(found) == 0 {
			_, _ = v.Evaluate(&workflow.Scope{Input: map[string]any{"x": []any{"y"}}})
		}
	})
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	v, err := workflow.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// However a step uses its references, what they stand for is bounded in total.
func TestReferencesDoNotGrowWithoutEnd(t *testing.T) {
	t.Parallel()
	fields := map[string]json.RawMessage{}
	for i := range 4000 {
		fields[strconv.Itoa(i)] = json.RawMessage(`"${{ input.x }}"`)
	}
	scope := func() *workflow.Scope { return &workflow.Scope{Input: map[string]any{"x": strings.Repeat("x", 1<<20)}} }
	for name, evaluate := range map[string]func(s *workflow.Scope) error{
		"one text": func(s *workflow.Scope) error {
			_, err := s.EvaluateRaw(json.RawMessage(`"` + strings.Repeat("${{ input.x }}", 4000) + `"`))
			return err
		},
		"many values": func(s *workflow.Scope) error { _, err := s.EvaluateFields(fields); return err },
		"one value after the other": func(s *workflow.Scope) error {
			for _, raw := range fields {
				if _, err := s.EvaluateRaw(raw); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		if err := evaluate(scope()); err == nil || !strings.Contains(err.Error(), "stand for more than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
