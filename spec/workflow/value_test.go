package workflow_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"pgregory.net/rapid"
)

func TestForms(t *testing.T) {
	t.Parallel()
	scope := &workflow.Scope{
		Input: decoded(t, `{"id":"item-1","n":3}`), Signal: decoded(t, `{"type":"t"}`),
		Outputs: map[string]any{"a": decoded(t, `{"title":"Sum","rows":[1,2]}`)}, Inputs: map[string]any{"day": "Monday"},
	}
	for _, tt := range []struct{ value, want string }{
		{`3`, `3`}, {`null`, `null`}, {`true`, `true`},
		{`"x"`, `"x"`},
		{`"${{ input.n }}"`, `3`},
		{`{"template":"${{ input.n }}"}`, `"3"`},
		{`{"literal":{"input":"${{ input.n }}"}}`, `{"input":"${{ input.n }}"}`},
		{`{"object":{"input":"${{ input.n }}"}}`, `{"input":3}`},
		{`{"array":[1,{"signal":"type"}]}`, `[1,"t"]`},
		{`{"input":"id"}`, `"item-1"`},
		{`{"input":""}`, `{"id":"item-1","n":3}`},
		{`{"step_output":{"step_id":"a","path":"rows[1]"}}`, `2`},
		{`{"stepOutput":{"stepId":"a"}}`, `{"rows":[1,2],"title":"Sum"}`},
		{`{"stepInput":"day"}`, `"Monday"`},
		{`{"a":"${{ steps.a.outputs.title }}","b":[{"input":"n"}]}`, `{"a":"Sum","b":[3]}`},
		{`{"input":"id","more":1}`, `{"input":"id","more":1}`},
	} {
		got, err := scope.EvaluateRaw(json.RawMessage(tt.value))
		if err != nil {
			t.Errorf("%s: %v", tt.value, err)
			continue
		}
		if text, err := json.Marshal(got); err != nil || string(text) != tt.want {
			t.Errorf("%s is %s (%v), want %s", tt.value, text, err, tt.want)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	scope := &workflow.Scope{Input: decoded(t, `{"n":1.0,"big":9007199254740993,"s":"1","b":true,"list":[1]}`)}
	for _, tt := range []struct {
		value, equals string
		want          bool
	}{
		{`"${{ input.n }}"`, `1`, true}, {`"${{ input.n }}"`, `10e-1`, true}, {`"${{ input.n }}"`, `"1"`, false},
		{`"${{ input.big }}"`, `9007199254740992`, false}, {`"${{ input.s }}"`, `"1"`, true},
		{`"${{ input.b }}"`, `true`, true}, {`"${{ input.b }}"`, `"true"`, false}, {`"${{ input.none }}"`, `null`, true},
		{`"${{ input.none }}"`, `false`, false}, {`"${{ input.list }}"`, `1`, false}, {`"${{ input.n }}"`, `1e999999999`, false},
	} {
		c := workflow.Condition{Value: json.RawMessage(tt.value), Equals: json.RawMessage(tt.equals)}
		if got, err := c.Holds(scope); err != nil || got != tt.want {
			t.Errorf("%s = %s is %v (%v), want %v", tt.value, tt.equals, got, err, tt.want)
		}
	}
}

// A constant comes to itself, in whatever it is contained, as long as it has no references
// and no single key.
func TestPropertyLiteralsComeToThemselves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := anyJSON(3).Draw(t, "content")
		raw, err := json.Marshal(map[string]any{"literal": content})
		if err != nil {
			t.Fatal(err)
		}
		got, err := new(workflow.Scope).EvaluateRaw(raw)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(got)
		if err != nil || string(text) != string(want) {
			t.Fatalf("%s comes to %s (%v)", want, text, err)
		}
	})
}

func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), box[bool]), rapid.Map(rapid.String(), box[string]), rapid.Map(rapid.Int(), box[int]))
	if depth == 0 {
		return leaf
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(inner, 0, 3), box[[]any]), rapid.Map(rapid.MapOfN(rapid.String(), inner, 0, 3), box[map[string]any]))
}

func box[T any](v T) any { return v }

func TestAStepDependsOnWhatItRefersTo(t *testing.T) {
	t.Parallel()
	s := workflow.Step{
		ID: "d", Inputs: map[string]json.RawMessage{"x": json.RawMessage(`{"stepOutput":{"stepId":"a"}}`)},
		When:  &workflow.Condition{Value: json.RawMessage(`"${{ steps.b.outputs.ok }}"`), Equals: json.RawMessage(`true`)},
		Agent: &workflow.AgentTurn{Agent: "w", Prompt: json.RawMessage(`"${{ steps.c.outputs.text }} ${{ steps.a.outputs.text }}"`)},
	}
	if got, want := s.DependsOn(), []string{"a", "b", "c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("it depends on %v, want %v", got, want)
	}
}

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	t.Parallel()
	r := workflow.Retry{MaxAttempts: 9, MaxBackoff: new(spec.Duration(10 * time.Second))}
	for failed, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second} {
		if got := r.Pause(failed); got != want {
			t.Errorf("after %d failures: %s, want %s", failed, got, want)
		}
	}
}

func TestAnOlderTargetIsTwoSteps(t *testing.T) {
	t.Parallel()
	w := workflow.Workflow{ID: "w", Target: &workflow.Target{
		Agent: &workflow.AgentTurn{Agent: "writer", Prompt: json.RawMessage(`"Write."`), Output: &workflow.Output{Structured: &workflow.Structured{Schema: json.RawMessage(`{"properties":{"title":{"type":"string"}}}`)}}},
		Delivery: &workflow.Delivery{Tool: "send", Bindings: []workflow.Binding{
			{Field: "title", Value: workflow.BindingValue{AgentOutput: "structured_output.title"}},
			{Field: "item", Value: workflow.BindingValue{SignalPayload: "id"}},
			{Field: "kind", Value: workflow.BindingValue{SignalMetadata: "type"}},
			{Field: "to", Value: workflow.BindingValue{Literal: json.RawMessage(`"team"`)}},
		}},
	}}
	if found := w.Validate(); len(found) > 0 {
		t.Fatal(found)
	}
	steps := w.AllSteps()
	if len(steps) != 2 {
		t.Fatalf("%d steps", len(steps))
	}
	got, err := (&workflow.Scope{
		Outputs: map[string]any{"target": map[string]any{"title": "Sum"}}, Signal: decoded(t, `{"type":"t","data":{"id":"item-1"}}`),
	}).EvaluateFields(steps[1].Tool.Input)
	if want := map[string]any{"title": "Sum", "item": "item-1", "kind": "t", "to": "team"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the arguments are %v (%v), want %v", got, err, want)
	}
}
