package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// picky is a tool that has an argument schema and counts its calls.
func picky(ran *[]string) tools.Tool {
	return like(tools.Descriptor{Parameters: json.RawMessage(`{"type":"object","properties":{
		"city":{"type":"string"},"days":{"type":"integer","minimum":1},"more":{}},"required":["city"]}`)},
		func(_ context.Context, c *tools.Call) (tools.Result, error) {
			*ran = append(*ran, string(c.Arguments))
			return tools.TextResult("ran"), nil
		})
}

// longArguments is a large object with every kind of JSON value.
func longArguments() string {
	entry := `{"name":"Grüße \"aus\" \u00e4\\ \ud83d\ude00","list":[1,-2.5e+3,true,false,null,[]],"empty":{}}`
	return `{"city":"Köln","more":[` + strings.Repeat(entry+",", 12) + entry + `],"days":3}`
}

func TestLongArgumentsCutOffAtAnyByteNeverReachTheTool(t *testing.T) {
	args, ran := longArguments(), []string(nil)
	set := map[string]tools.Tool{"x": picky(&ran)}
	for n := 1; n < len(args); n++ {
		got := stage{model: says(asks("", callWith("c", "x", args[:n])), text("done")), tools: set}.play(t)
		got.ends(t, event.NaturalEnd, "")
		if results := got.results(); len(results) != 1 || !strings.HasPrefix(results[0], "c! tool_input_invalid") {
			t.Fatalf("cut at byte %d: the results are %q", n, results)
		}
		checkKept(t, got.Messages)
	}
	if len(ran) != 0 {
		t.Errorf("the tool ran with %q", ran[0])
	}
	got := stage{model: says(asks("", callWith("c", "x", args)), text("done")), tools: set}.play(t)
	got.ends(t, event.NaturalEnd, "")
	if !slices.Equal(ran, []string{args}) {
		t.Errorf("the whole arguments arrive as %q", ran)
	}
}

// nested returns arguments with the given nesting depth.
func nested(levels int) string {
	return `{"city":"x","more":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
}

// manyKeys returns the members of an object after its first one, all distinct.
func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	return b.String()
}

func TestArgumentsThatNobodyShouldWrite(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		runs       bool
	}{
		{"a list", `["city"]`, false},
		{"an object encoded twice", `"{\"city\":\"x\"}"`, true},
		{"a string", `"x"`, false},
		{"a number", `7`, false},
		{"nothing", ``, false},
		{"null", `null`, false},
		{"two objects", `{"city":"x"}{"city":"y"}`, false},
		{"text after the object", `{"city":"x"} as you like`, false},
		{"a fence around it", "```json\n{\"city\":\"x\"}\n```", true},
		{"single quotes", `{'city':'x'}`, false},
		{"a comma too many", `{"city":"x",}`, false},
		{"a comment", `{"city":"x"/* here */}`, false},
		{"a byte order mark", "\ufeff{\"city\":\"x\"}", false},
		{"a zero byte", "{\"city\":\"x\x00\"}", true},
		{"no UTF-8", "{\"city\":\"x\xff\xfe\"}", false},
		{"half a character", "{\"city\":\"K\xc3\"}", false},
		{"half a surrogate", `{"city":"\ud83d"}`, true},
		{"NaN", `{"city":"x","days":NaN}`, false},
		{"an exponent without end", `{"city":"x","days":1e999999999}`, false},
		{"a number of 1,000 digits", `{"city":"x","days":` + strings.Repeat("9", 1000) + `}`, true},
		{"a number of 100,000 digits", `{"city":"x","days":` + strings.Repeat("9", 100_000) + `}`, false},
		{"a key twice, the last one wrong", `{"city":"x","city":7}`, false},
		{"a key twice, the last one right", `{"city":7,"city":"x"}`, false},
		{"1,000 levels", nested(1000), true},
		{"9,990 levels", nested(9990), true},
		{"10,000 levels", nested(10_000), true},
		{"10,001 levels", nested(10_001), false},
		{"100,000 levels", nested(100_000), false},
		{"100,000 levels left open", `{"city":` + strings.Repeat(`{"a":`, 100_000), false},
		{"a long text", `{"city":"` + strings.Repeat("x", 1<<20) + `"}`, true},
		{"a hundred thousand keys", `{"city":"x"` + manyKeys(100_000) + `}`, true},
		{"a key a hundred thousand times", `{"city":"x"` + strings.Repeat(`,"k":0`, 100_000) + `}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ran []string
			var states []*backend.State
			got := stage{
				model: says(asks("", callWith("c", "x", tt.args)), text("done")),
				tools: map[string]tools.Tool{"x": picky(&ran)},
				job: func(j *backend.Job) {
					j.Checkpoint = func(_ context.Context, s *backend.State) error {
						states = append(states, s)
						return nil
					}
				},
			}.play(t)
			got.ends(t, event.NaturalEnd, "")
			result := got.results()[0]
			if runs := len(ran) == 1; runs != tt.runs || runs != (result == "c ran") || !runs && !strings.HasPrefix(result, "c! tool_input_invalid: ") {
				t.Errorf("the tool ran %d times, the model reads %.100q", len(ran), result)
			}
			checkKept(t, got.Messages)
			for _, s := range states {
				through(t, s)
			}
			for _, d := range got.events {
				if data, err := json.Marshal(event.Event{Data: d}); err != nil || !utf8.Valid(data) {
					t.Errorf("the event %s cannot be written: %v", d.Type(), err)
				}
			}
		})
	}
}

// checkKept fails the test unless messages survive a JSON round trip.
func checkKept(t *testing.T, messages []model.Message) {
	t.Helper()
	data, err := json.Marshal(messages)
	if err != nil || !utf8.Valid(data) {
		t.Fatalf("the messages cannot be stored: %v", err)
	}
	var back []model.Message
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("the messages cannot be read again: %v", err)
	}
	for i := range messages {
		for k, c := range messages[i].ToolCalls() {
			if kept := back[i].ToolCalls()[k].Arguments; string(kept) != string([]rune(string(c.Arguments))) {
				t.Errorf("the arguments %.80q come back as %.80q", c.Arguments, kept)
			}
		}
	}
}

func TestArgumentsThatAPersonGaveAreCheckedLikeThoseOfAModel(t *testing.T) {
	for _, args := range []string{`{"city":7}`, `{}`, nested(10_001), "{\"city\":\"\xff\"}", `[]`, `{"city":`} {
		var ran []string
		s := stage{
			model:   says(asks("", callWith("x", "x", `{"city":"x"}`)), text("done")),
			tools:   map[string]tools.Tool{"x": picky(&ran)},
			plugins: []plugin{asksFor("x", interaction.ReplayToolCall)},
		}
		first := s.play(t)
		answer := resume("x", `true`)
		answer.Arguments = json.RawMessage(args)
		state := through(t, first.State)
		if err := state.Answer(answer); err != nil {
			continue // refused where it is given
		}
		second := s.goesOn(t, first.State, answer)
		second.ends(t, event.NaturalEnd, "")
		if results := second.results(); len(ran) != 0 || !strings.Contains(results[0], "tool_input_invalid") {
			t.Errorf("%.40q: the tool ran %d times, the model reads %.100q", args, len(ran), results)
		}
	}
}
