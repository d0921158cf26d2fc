package local_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// forever streams the same event until the consumer stops, which must happen.
func forever(t *testing.T, begin []model.Event, ev model.Event) reply {
	return func(_ context.Context, yield func(model.Event, error) bool) {
		for _, ev := range begin {
			if !yield(ev, nil) {
				return
			}
		}
		for range 20 << 20 {
			if !yield(ev, nil) {
				return
			}
		}
		t.Error("the stream was read for ever")
	}
}

func TestAnAnswerWithoutEndIsGivenUp(t *testing.T) {
	kilo := strings.Repeat("x", 1<<10)
	begin := model.Event{Type: model.EventToolCallStart, ID: "c", Name: "x"}
	for name, reply := range map[string]reply{
		"text":             forever(t, nil, model.Event{Type: model.EventText, Delta: kilo}),
		"reasoning":        forever(t, nil, model.Event{Type: model.EventReasoning, Delta: kilo}),
		"closed reasoning": forever(t, nil, model.Event{Type: model.EventReasoningEncrypted, Delta: "x"}),
		"arguments":        forever(t, []model.Event{begin}, model.Event{Type: model.EventToolCallDelta, Delta: kilo}),
		"canceled calls":   forever(t, []model.Event{begin}, model.Event{Type: model.EventToolCallCancel, Delta: kilo}),
		"who serves":       forever(t, nil, model.Event{Type: model.EventServed, ID: kilo}),
		"calls": func(_ context.Context, yield func(model.Event, error) bool) {
			for i := 0; yield(model.Event{Type: model.EventToolCallStart, Index: i, Name: "x"}, nil); i++ {
				if i > 1<<20 {
					t.Error("the stream was read for ever")
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ran, events := false, 0
			var heap runtime.MemStats
			s := stage{
				model: says(reply, text("never")),
				tools: map[string]tools.Tool{"x": does(func(context.Context, *tools.Call) (tools.Result, error) {
					ran = true
					return tools.Result{}, nil
				})},
			}
			got := s.playUnheard(t, func(event.Data) {
				if events++; events%4_000 == 0 {
					var now runtime.MemStats
					runtime.ReadMemStats(&now)
					heap.HeapAlloc = max(heap.HeapAlloc, now.HeapAlloc)
				}
			})
			got.ends(t, event.Failed, "truncation")
			if ran || !strings.Contains(got.Termination.Detail, "the answer is larger than 16 MiB") || len(got.Messages) != 0 {
				t.Errorf("it ended by %+v with %d messages, the tool ran: %v", got.Termination, len(got.Messages), ran)
			}
			if heap.HeapAlloc > 200<<20 {
				t.Errorf("the answer took %d MiB", heap.HeapAlloc>>20)
			}
		})
	}
}

// playUnheard plays a turn whose events are not recorded.
func (s stage) playUnheard(t *testing.T, sees func(event.Data)) scene {
	t.Helper()
	s.unheard, s.sees = true, sees
	return s.play(t)
}

func TestAnAnswerThatCallsTooManyToolsIsWorkedOnInPart(t *testing.T) {
	for _, mode := range []spec.ToolExecution{spec.Parallel, spec.Sequential} {
		many := make([]model.ToolCall, 10_000)
		for i := range many {
			many[i] = callWith(fmt.Sprintf("c%d", i), "x", "{}")
		}
		counted := make(chan struct{}, len(many))
		got := stage{
			agent: spec.Agent{ToolExecution: mode},
			model: says(asks("", many...), text("done")),
			tools: map[string]tools.Tool{"x": does(func(context.Context, *tools.Call) (tools.Result, error) {
				counted <- struct{}{}
				return tools.TextResult("ran"), nil
			})},
		}.play(t)
		got.ends(t, event.NaturalEnd, "")
		results := got.results()
		if len(counted) != 128 || len(results) != 128 || results[127] != "c127 ran" {
			t.Fatalf("%d calls ran, %d have results", len(counted), len(results))
		}
		checkKept(t, got.Messages)
		kinds := make(map[event.Type]int)
		for _, d := range got.events {
			kinds[d.Type()]++
			if o, ok := d.(*event.ToolCallsOmitted); ok && (o.Omitted != 9872 || o.MaxCalls != 128 || !strings.HasPrefix(o.Message, "9872 more calls were not made: ")) {
				t.Errorf("what was left out is reported as %+v", o)
			}
		}
		if kinds[event.TypeToolCallStart] != 128 || kinds[event.TypeToolCallReady] != 128 || kinds[event.TypeToolCallDone] != 128 || kinds[event.TypeToolCallsOmitted] != 1 {
			t.Errorf("the events are %v", kinds)
		}
	}
}

func TestNamesAndIDsThatAreNone(t *testing.T) {
	long := strings.Repeat("long", 1<<18)
	got := stage{
		model: says(
			asks("", callWith("a", "nothing", "{}"), callWith("a", "", "{}"), callWith(long, "x", "{}"), callWith("b", long, "{}"), callWith("", "X", `{"`)),
			asks("", callWith("a", "x", "{}"), callWith("\x00\xff", "x", "{}")),
			text("done"),
		),
		tools: map[string]tools.Tool{"x": answers("ran")},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	want := []string{
		`a! there is no tool "nothing"`, `call_1_1! there is no tool ""`, "call_1_2 ran",
		`b! there is no tool "` + long[:80] + `…"`, `call_1_4! there is no tool "X"; did you mean "x"?`,
		"call_2_0 ran", "call_2_1 ran",
	}
	if results := got.results(); strings.Join(results, "\n") != strings.Join(want, "\n") {
		t.Errorf("the results are %.200q", results)
	}
	checkKept(t, got.Messages)
}

func TestAnAnswerOfNothing(t *testing.T) {
	finish := model.Event{Type: model.EventFinish, Reason: model.FinishStop}
	for _, tt := range []struct {
		name   string
		reply  reply
		reason event.Reason
		code   string
	}{
		{"only an end", streams(finish), event.NaturalEnd, ""},
		{"an end for calls without calls", streams(model.Event{Type: model.EventFinish, Reason: model.FinishToolCalls}), event.NaturalEnd, ""},
		{"an end for no reason", streams(model.Event{Type: model.EventFinish}), event.NaturalEnd, ""},
		{"empty pieces", streams(model.Event{Type: model.EventText}, model.Event{Type: model.EventReasoning}, finish), event.NaturalEnd, ""},
		{"nothing at all", streams(), event.Failed, "stream_interrupted"},
		{"only reasoning, and no end", streams(model.Event{Type: model.EventReasoning, Delta: "hm"}), event.Failed, "stream_interrupted"},
		{"no type", streams(model.Event{}, finish), event.Failed, "provider"},
		{"a call that never started", streams(model.Event{Type: model.EventToolCallEnd, Index: 3}, finish), event.Failed, "provider"},
		{"a negative call", streams(model.Event{Type: model.EventToolCallStart, Index: -1, Name: "x"}, finish), event.Failed, "provider"},
		{"calls in the wrong order", streams(model.Event{Type: model.EventToolCallStart, Index: 1, Name: "x"}, finish), event.Failed, "provider"},
		{"a call that starts twice", streams(model.Event{Type: model.EventToolCallStart, Name: "x"}, model.Event{Type: model.EventToolCallStart, Name: "x"}, finish), event.Failed, "provider"},
		{"a retry of nothing", streams(model.Event{Type: model.EventRetry}, model.Event{Type: model.EventReset}, finish), event.NaturalEnd, ""},
		{"more after the end", streams(finish, finish), event.Failed, "provider"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stage{model: says(tt.reply), tools: map[string]tools.Tool{"x": answers("ran")}}.play(t)
			got.ends(t, tt.reason, tt.code)
			if len(got.results()) != 0 || got.Response != "" {
				t.Errorf("it came to %q with the results %q", got.Response, got.results())
			}
		})
	}
}

// A call from an earlier answer that is repeated, including its id, is a new call.
func TestTheSameIDInEachStepIsAnotherCallEachTime(t *testing.T) {
	keys := map[string]bool{}
	got := stage{
		model: says(asks("", call("x"), call("x")), asks("", call("x")), asks("", call("x")), text("done")),
		tools: map[string]tools.Tool{"x": does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
			return tools.TextResult(c.IdempotencyKey), nil
		})},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	for _, result := range got.results() {
		_, key, _ := strings.Cut(result, " ")
		keys[key] = true
	}
	if len(keys) != 4 {
		t.Errorf("the calls have the keys %v", keys)
	}
}
