package core_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// calls returns calls, written as "name arguments" each.
func calls(list ...string) []*model.ToolCall {
	var all []*model.ToolCall
	for i, text := range list {
		name, arguments, _ := strings.Cut(text, " ")
		all = append(all, &model.ToolCall{ID: fmt.Sprint("c", i), Name: name, Arguments: json.RawMessage(arguments)})
	}
	return all
}

func judge(t testing.TB, e *execution.Engine, batch []*model.ToolCall) plugins.BatchDecision {
	t.Helper()
	d, err := e.Batch(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// outcome is a batch decision in short: how many calls are skipped, and what
// comes of it.
func outcome(d *plugins.BatchDecision) string {
	text := fmt.Sprint("skips ", len(d.Results))
	if d.Steer != "" {
		text += ", steers"
	}
	if d.Finalize {
		text += ", finalizes"
	}
	for _, data := range d.Events {
		switch e := data.(type) {
		case *event.LoopDetected:
			text += fmt.Sprintf(", loop %d %t %v", e.Count, e.HardCutoff, e.Tools)
		case *event.ToolBudgetExceeded:
			text += fmt.Sprintf(", budget %s %s %d of %d", e.ID, e.Tool, e.Call, e.MaxCalls)
		}
	}
	return text
}

func TestALoopIsSteeredThenCutOff(t *testing.T) {
	t.Parallel()
	agent := &spec.Agent{LoopDetection: &spec.LoopDetection{}}
	e := engine(t, agent)
	same := []string{`read {"a":1,"b":[2]}`, `list {}`}
	for i, tt := range []struct {
		batch []string
		want  string
	}{
		{same, "skips 0"},
		{same, "skips 0"},
		{same, "skips 2, steers, loop 3 false [list read]"},
		{same, "skips 2"},
		{[]string{"other {}"}, "skips 0"},
		{same, "skips 0"}, // a new streak counts again
		{same, "skips 0"},
		{same, "skips 2, steers, loop 3 false [list read]"},
		{same, "skips 2"},
		{same, "skips 2"},
		{same, "skips 2, steers, finalizes, loop 6 true [list read]"},
	} {
		d := judge(t, e, calls(tt.batch...))
		if got := outcome(&d); got != tt.want {
			t.Errorf("batch %d: %s, want %s", i+1, got, tt.want)
		}
		for id, r := range d.Results {
			if !r.IsError || !strings.Contains(model.PartsText(r.Content), "was not made") {
				t.Errorf("batch %d: the result of %s is %+v", i+1, id, r)
			}
		}
		e = resumed(t, e, agent) // counting goes on where the turn does
	}
}

func TestCallsAreTheSameWhateverTheirOrderAndSpelling(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b []string
		same bool
	}{
		{[]string{`t {"a":1,"b":{"c":2,"d":3}}`}, []string{`t { "b": {"d":3,"c":2}, "a": 1 }`}, true},
		{[]string{`t {"a":1}`, `u {}`}, []string{`u {}`, `t {"a":1}`}, true},
		{[]string{`t {}`}, []string{`t`}, true},
		{[]string{`t {}`}, []string{`t null`}, true},
		{[]string{`t {"a":[1,2]}`}, []string{`t {"a":[2,1]}`}, false},
		{[]string{`t {"a":1}`}, []string{`t {"a":"1"}`}, false},
		{[]string{`t {"a":12345678901234567890}`}, []string{`t {"a":12345678901234567891}`}, false},
		{[]string{`t {}`}, []string{`t {}`, `t {}`}, false}, // how often counts
		{[]string{`t {}`, `u {}`, `u {}`}, []string{`t {}`, `t {}`, `u {}`}, false},
		{[]string{`t {}`}, []string{`u {}`}, false},
		{[]string{`t {`}, []string{`t {`}, true},
		{[]string{`t {`}, []string{`t { `}, false}, // what is no JSON is only itself
		{[]string{`t {} {}`}, []string{`t {}`}, false},
	} {
		e := engine(t, &spec.Agent{LoopDetection: &spec.LoopDetection{ConsecutiveThreshold: new(2)}})
		judge(t, e, calls(tt.a...))
		if got := len(judge(t, e, calls(tt.b...)).Results) > 0; got != tt.same {
			t.Errorf("%q and %q are the same: %t", tt.a, tt.b, got)
		}
	}
}

// TestPropertyLoopsAreCountedByWhatIsAskedFor compares loop detection with
// counting equal batches, however each is written.
func TestPropertyLoopsAreCountedByWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	spellings := map[string][]string{
		"x": {`t {"a":1,"b":2}`, `t {"b":2,"a":1}`, `t { "a" : 1 , "b" : 2 }`},
		"y": {`t {"a":1}`, `t {"a": 1}`},
		"z": {`u {}`, `u`, `u null`},
	}
	rapid.Check(t, func(rt *rapid.T) {
		soft := rapid.IntRange(2, 4).Draw(rt, "consecutive")
		hard := rapid.IntRange(soft+1, 6).Draw(rt, "hard")
		agent := &spec.Agent{LoopDetection: &spec.LoopDetection{ConsecutiveThreshold: &soft, HardCutoffThreshold: &hard}}
		e := engine(t, agent)
		last, streak := "", 0
		for range rapid.IntRange(1, 20).Draw(rt, "batches") {
			kinds := rapid.SampledFrom([][]string{{"x"}, {"x", "y"}, {"x", "z", "z"}}).Draw(rt, "kinds")
			var batch []string
			for _, k := range rapid.Permutation(kinds).Draw(rt, "order") {
				batch = append(batch, rapid.SampledFrom(spellings[k]).Draw(rt, "spelling"))
			}
			if key := strings.Join(kinds, ""); key == last {
				streak++
			} else {
				last, streak = key, 1
			}
			d := judge(t, e, calls(batch...))
			if skipped := len(d.Results) == 0; skipped == (streak >= soft) {
				rt.Fatalf("batch %d of a row: %s", streak, outcome(&d))
			}
			if d.Finalize != (streak >= hard) || (len(d.Events) == 1) != (streak == soft || streak == hard) || (d.Steer != "") != (streak == soft || streak >= hard) {
				rt.Fatalf("batch %d of a row: %s", streak, outcome(&d))
			}
			if rapid.Bool().Draw(rt, "stopped") {
				e = resumed(t, e, agent)
			}
		}
	})
}

func TestAToolIsCalledAsOftenAsItsBudgetAllows(t *testing.T) {
	t.Parallel()
	agent := &spec.Agent{ToolBudgets: map[string]spec.ToolBudget{"recall": {MaxCalls: 2}, "never": {MaxCalls: 0}}}
	e := engine(t, agent)
	for i, tt := range []struct {
		batch []string
		want  string
	}{
		{[]string{"other {}", "recall {}"}, "skips 0"},
		{[]string{"recall {}", "recall {}", "other {}"}, "skips 1, budget c1 recall 3 of 2"},
		{[]string{"never {}", "other {}"}, "skips 1, budget c0 never 1 of 0"},
		{[]string{"recall {}", "never {}"}, "skips 2, budget c0 recall 4 of 2, budget c1 never 2 of 0"},
		{[]string{"other {}"}, "skips 0"},
	} {
		d := judge(t, e, calls(tt.batch...))
		if got := outcome(&d); got != tt.want {
			t.Errorf("batch %d: %s, want %s", i+1, got, tt.want)
		}
		for _, r := range d.Results {
			if !r.IsError || !strings.Contains(model.PartsText(r.Content), "that is used up") {
				t.Errorf("batch %d: the result is %+v", i+1, r)
			}
		}
		e = resumed(t, e, agent)
	}
}

func TestWhatALoopSkipsDoesNotCountForABudget(t *testing.T) {
	t.Parallel()
	e := engine(t, &spec.Agent{
		LoopDetection: &spec.LoopDetection{ConsecutiveThreshold: new(2)},
		ToolBudgets:   map[string]spec.ToolBudget{"t": {MaxCalls: 2}},
	})
	var got []string
	for _, batch := range [][]string{{"t {}"}, {"t {}"}, {"t {}"}, {`t {"a":1}`}, {`t {"a":2}`}} {
		d := judge(t, e, calls(batch...))
		got = append(got, outcome(&d))
	}
	want := []string{"skips 0", "skips 1, steers, loop 2 false [t]", "skips 1", "skips 0", "skips 1, budget c0 t 3 of 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGuardsThatAreOffCostNothing(t *testing.T) {
	t.Parallel()
	for _, agent := range []*spec.Agent{{}, {LoopDetection: &spec.LoopDetection{Enabled: new(false)}, ToolBudgets: map[string]spec.ToolBudget{}}} {
		if engine(t, agent).JudgesBatches() {
			t.Errorf("%+v judges batches", agent)
		}
	}
}

// TestGuardsKeepNoArgumentsInTheState proves that what a call was given does not
// show up in snapshots.
func TestGuardsKeepNoArgumentsInTheState(t *testing.T) {
	t.Parallel()
	e := engine(t, &spec.Agent{
		LoopDetection: &spec.LoopDetection{}, ToolBudgets: map[string]spec.ToolBudget{"t": {MaxCalls: 1}},
		StopConditions: []spec.StopCondition{{Type: spec.StopLoopDetection, Window: 2}},
	})
	judge(t, e, calls(`t {"key":"secret"}`))
	after(t, e, model.Assistant("the answer is secret"))
	var ids []string
	for id, raw := range e.Snapshot() {
		ids = append(ids, id)
		if strings.Contains(string(raw), "secret") {
			t.Errorf("%s is %s", id, raw)
		}
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"runtime.loop_detection", "runtime.recent_answers", "runtime.tool_attempts"}, ids); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkGuards(b *testing.B) {
	e := engine(b, &spec.Agent{LoopDetection: &spec.LoopDetection{}, ToolBudgets: map[string]spec.ToolBudget{"a": {MaxCalls: 5}}})
	batches := [][]*model.ToolCall{
		calls(`a {"path":"x/y","limit":10}`, `b {"q":"words"}`), calls(`a {"path":"x/z","limit":10}`, `b {"q":"words"}`),
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		judge(b, e, batches[i%2])
	}
}
