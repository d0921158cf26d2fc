package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools"
)

// ledger is a journal that outlives the process.
type ledger struct {
	t *testing.T
	// begun holds the states passed to Begin, and settled the arguments of Settle.
	begun   []*backend.State
	settled []settled
	// kept holds the arguments of Keep.
	kept []backend.JournalEntry
	// refuses is the error that Begin and Keep return.
	refuses error
}

type settled struct {
	entry  backend.JournalEntry
	result *model.ToolResult
}

func (l *ledger) Begin(_ context.Context, s *backend.State) error {
	l.begun = append(l.begun, through(l.t, s))
	return l.refuses
}

func (l *ledger) Keep(_ context.Context, entry *backend.JournalEntry) error {
	l.kept = append(l.kept, *entry)
	return l.refuses
}

func (l *ledger) Settle(entry *backend.JournalEntry, result *model.ToolResult) {
	l.settled = append(l.settled, settled{*entry, result})
}

// keys returns a tool with an effect that records its idempotency keys.
func keys(effect tools.Effect, into *[]string) tools.Tool {
	return like(tools.Descriptor{Effect: effect}, func(_ context.Context, c *tools.Call) (tools.Result, error) {
		*into = append(*into, c.IdempotencyKey)
		return tools.TextResult("did it"), nil
	})
}

func TestACallInDoubtIsRepeatedUnlessItsEffectForbidsIt(t *testing.T) {
	const unknown = "may or may not have taken effect, and it was not repeated"
	for _, tt := range []struct {
		effect  tools.Effect
		ran     int
		outcome event.CallOutcome
		result  string
	}{
		{tools.Read, 2, event.CallSucceeded, "did it"},
		{tools.Idempotent, 2, event.CallSucceeded, "did it"},
		{tools.Once, 1, event.CallIndeterminate, unknown},
		{"", 1, event.CallIndeterminate, unknown},
		{"of a later version", 1, event.CallIndeterminate, unknown},
	} {
		var ran []string
		l := &ledger{t: t}
		s := stage{
			model: says(asks("hm", call("x"), call("other")), text("done")), journal: l,
			tools: map[string]tools.Tool{"x": keys(tt.effect, &ran), "other": answers("other")},
		}
		s.play(t)
		s.model = says(text("done"))
		second := s.goesOn(t, l.begun[0])
		second.ends(t, event.NaturalEnd, "")
		if len(ran) != tt.ran || slices.ContainsFunc(ran, func(key string) bool { return key != "turn/1/x" }) {
			t.Errorf("%q: the calls %q", tt.effect, ran)
		}
		if entry := second.Journal[0]; entry.Outcome != tt.outcome || len(second.Journal) != 2 {
			t.Errorf("%q: the journal has %+v", tt.effect, second.Journal)
		}
		if got := second.results(); !strings.Contains(got[0], tt.result) || !strings.Contains(got[1], unknown) {
			t.Errorf("%q: the results are %q", tt.effect, got)
		}
		if got := second.done(); len(got) != 2 || !has(got, "x "+string(tt.outcome)) {
			t.Errorf("%q: the calls end as %q", tt.effect, got)
		}
		if types := second.types(); slices.Contains(types, event.TypeStepStart) && slices.Index(types, event.TypeStepStart) < slices.Index(types, event.TypeStepEnd) {
			t.Errorf("%q: the step begins twice: %v", tt.effect, types)
		}
	}
}

func TestACallInDoubtContinuesWhereItsToolHasKept(t *testing.T) {
	for effect, want := range map[tools.Effect]string{tools.Read: "x from the start", tools.Idempotent: `x from {"at":1}`, tools.Once: `x from {"at":1}`} {
		l := &ledger{t: t}
		s := stage{model: says(asks("hm", call("x"), call("other")), text("done")), journal: l, tools: map[string]tools.Tool{
			"other": answers("other"),
			"x": like(tools.Descriptor{Effect: effect}, func(ctx context.Context, c *tools.Call) (tools.Result, error) {
				if c.Resumed != nil {
					return tools.TextResult("from " + string(c.Resumed.State)), nil
				}
				return tools.TextResult("from the start"), c.Host.Keep(ctx, json.RawMessage(`{"at":1}`))
			}),
		}}
		s.play(t)
		state := l.begun[0]
		for _, entry := range l.kept {
			state.Record(entry, nil)
		}
		s.model = says(text("done"))
		second := s.goesOn(t, state)
		second.ends(t, event.NaturalEnd, "")
		if got := second.results()[0]; got != want {
			t.Errorf("%s: the call continues %q", effect, got)
		}
	}
}

func TestTheStateOfACallThatBeginsHasItsEntryWithoutOutcome(t *testing.T) {
	l := &ledger{t: t}
	var ran []string
	s := stage{model: says(asks("hm", call("r"), call("x"), call("y")), asks("", call("r")), text("done")), journal: l, tools: map[string]tools.Tool{
		"r": keys(tools.Read, &ran), "x": answers("1"), "y": answers("2"),
	}}
	got := s.play(t)
	got.ends(t, event.NaturalEnd, "")
	if len(l.begun) != 1 {
		t.Fatalf("Begin was called %d times, want once: a batch that only reads needs none", len(l.begun))
	}
	state := l.begun[0]
	if !state.InStep || len(state.Journal) != 3 || state.Stats.ToolCalls != 3 || len(state.Messages) != 1 {
		t.Errorf("the state is %+v", state)
	}
	for i := range state.Journal {
		if state.Journal[i].Outcome != "" || state.Calls[i].Outcome != "" || state.Calls[i].Result != nil || !state.Calls[i].Decided {
			t.Errorf("call %d has begun with %+v and %+v", i, state.Journal[i], state.Calls[i])
		}
	}
	if len(l.settled) != 4 {
		t.Errorf("%d calls are settled", len(l.settled))
	}
	for _, s := range l.settled {
		if s.entry.Outcome != event.CallSucceeded || s.result == nil || s.result.CallID != s.entry.CallID {
			t.Errorf("%+v is settled with %+v", s.entry, s.result)
		}
	}
}

func TestAnErrorOfBeginKeepsTheToolsFromBeingCalled(t *testing.T) {
	l := &ledger{t: t, refuses: errors.New("the disk is full")}
	s := stage{model: says(asks("", call("x"))), journal: l, tools: map[string]tools.Tool{
		"x": does(func(context.Context, *tools.Call) (tools.Result, error) {
			t.Error("the tool is called")
			return tools.Result{}, nil
		}),
	}}
	got := s.play(t)
	got.ends(t, event.Failed, backend.CodeInternal)
	if !errors.Is(got.err, l.refuses) || len(got.Journal) != 0 || len(l.settled) != 0 {
		t.Errorf("%v, the journal has %+v", got.err, got.Journal)
	}
}

func TestARecordedResultIsNotComeToAgain(t *testing.T) {
	l := &ledger{t: t}
	after := 0
	s := stage{
		model: says(asks("", call("x"), call("y")), text("done")), journal: l,
		tools: map[string]tools.Tool{"x": answers("1"), "y": answers("2")},
		plugins: []plugin{on(plugins.AfterToolExecute, func(_ context.Context, p *plugins.PhaseContext) error {
			after++
			if p.Result == nil || model.PartsText(p.Result.Content) == "" {
				t.Errorf("the hook sees %+v", p.Result)
			}
			return nil
		})},
	}
	whole := s.play(t)
	state := l.begun[0]
	for _, r := range l.settled {
		state.Record(r.entry, r.result)
		state.Record(r.entry, nil) // it is known already
	}
	state.Record(backend.JournalEntry{Step: 1, CallID: "z", IdempotencyKey: "turn/1/z", Outcome: event.CallFailed}, &model.ToolResult{})
	state.Record(backend.JournalEntry{Step: 2, CallID: "x", IdempotencyKey: "turn/2/x", Outcome: event.CallFailed}, &model.ToolResult{})
	after, s.model, s.journal = 0, says(text("done")), nil
	s.tools = map[string]tools.Tool{"x": answers("again"), "y": answers("again")}
	second := s.goesOn(t, state)
	if mustJSON(t, second.Messages) != mustJSON(t, whole.Messages) || after != 2 || len(second.done()) != 0 || len(second.Journal) != 2 {
		t.Errorf("it comes to %q with %d hooks, %q are done", second.results(), after, second.done())
	}
}

func TestAPersonSaysWhatCameOfACallInDoubt(t *testing.T) {
	for _, tt := range []struct {
		answer interaction.Answer
		want   string
	}{
		{resume("x", `"it was paid"`), "x it was paid"},
		{interaction.Answer{Target: "x", Action: interaction.Resume, Result: json.RawMessage(`"paid"`), Arguments: json.RawMessage(`{"a":2}`)}, "x paid"},
		{interaction.Answer{Target: "x", Action: interaction.Cancel, Reason: "no idea"}, "x! The runtime stopped while the call of x was under way."},
	} {
		l := &ledger{t: t}
		var ran []string
		s := stage{
			model: says(asks("", call("x"))), journal: l, tools: map[string]tools.Tool{"x": keys(tools.Once, &ran)},
			policy: backend.IndeterminateAsk,
		}
		s.play(t)
		l.settled = nil
		first := s.goesOn(t, l.begun[0])
		if first.Termination.Type != event.Suspended || len(first.Interactions) != 1 {
			t.Fatalf("the turn ends by %+v", first.Termination)
		}
		request := first.Interactions[0]
		if request.Action != backend.ActionIndeterminate || request.Mode != interaction.UseDecisionAsToolResult || string(request.Arguments) != `{}` ||
			!strings.Contains(request.Message, "may or may not have taken effect") {
			t.Errorf("the request is %+v", request)
		}
		if len(l.settled) != 1 || l.settled[0].entry.Outcome != event.CallIndeterminate || l.settled[0].result != nil {
			t.Errorf("the journal got %+v", l.settled)
		}
		state := l.begun[0] // the process dies again
		state.Record(l.settled[0].entry, nil)
		for _, from := range []*backend.State{first.State, state} {
			s.model = says(text("done"))
			second := s.goesOn(t, from, tt.answer)
			second.ends(t, event.NaturalEnd, "")
			if got := second.results(); !strings.HasPrefix(got[0], tt.want) || len(ran) != 1 {
				t.Errorf("the results are %q after %d calls", got, len(ran))
			}
			if second.Journal[0].Outcome != event.CallIndeterminate {
				t.Errorf("the journal has %+v", second.Journal)
			}
		}
	}
}

// asking is a tool that asks once.
var asking = does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
	if c.Resumed == nil {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{ID: "q"}}, State: json.RawMessage(`7`)}}, nil
	}
	return tools.TextResult(string(c.Resumed.State) + string(c.Resumed.Answers[0].Result)), nil
})

func TestACallThatBeganToWaitWaitsAfterACrash(t *testing.T) {
	l := &ledger{t: t}
	s := stage{model: says(asks("", call("x"))), journal: l, tools: map[string]tools.Tool{"x": asking}}
	s.play(t)
	state := l.begun[0]
	state.Record(l.settled[0].entry, l.settled[0].result)
	if open := state.Interactions(); len(open) != 1 || open[0].ID != "q" || state.Journal[0].Outcome != event.CallSuspended || state.Journal[0].After != nil {
		t.Fatalf("the state waits for %+v, its journal has %+v", open, state.Journal)
	}
	s.model, l.begun = says(text("done")), nil
	second := s.goesOn(t, state, resume("q", `1`))
	if got := second.results(); len(got) != 1 || got[0] != "x 71" {
		t.Errorf("the results are %q", got)
	}
	s.model = says(text("done"))
	third := s.goesOn(t, l.begun[0]) // it dies while continuing
	if got := third.results(); !strings.HasPrefix(got[0], "x! The runtime stopped") {
		t.Errorf("the results are %q", got)
	}
}

func TestAnIdempotentCallThatWaitedGoesOnWithItsAnswersAfterACrash(t *testing.T) {
	l := &ledger{t: t}
	s := stage{model: says(asks("", call("x"))), journal: l, tools: map[string]tools.Tool{"x": like(tools.Descriptor{Effect: tools.Idempotent}, asking.(fn).run)}}
	first := s.play(t)
	s.model, l.begun = says(text("done")), nil
	s.goesOn(t, first.State, resume("q", `1`))
	s.model = says(text("done"))
	if got := s.goesOn(t, l.begun[0]); got.results()[0] != "x 71" {
		t.Errorf("the results are %q", got.results())
	}
}

func TestTheEndThatAHookAskedForOutlivesACrash(t *testing.T) {
	l := &ledger{t: t}
	s := stage{
		model: says(asks("", call("x"))), journal: l, tools: map[string]tools.Tool{"x": like(tools.Descriptor{Effect: tools.Idempotent}, func(context.Context, *tools.Call) (tools.Result, error) {
			return tools.TextResult("did it"), nil
		})},
		plugins: []plugin{on(plugins.BeforeToolExecute, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Stop(event.Termination{Type: event.BehaviorRequested, Code: "enough"})
			return nil
		})},
	}
	s.play(t)
	s.model = says()
	second := s.goesOn(t, l.begun[0])
	second.ends(t, event.BehaviorRequested, "enough")
	if got := second.results(); len(got) != 1 || got[0] != "x did it" {
		t.Errorf("the results are %q", got)
	}
}

func TestACallWhoseToolIsGoneIsToldSoAfterACrash(t *testing.T) {
	l := &ledger{t: t}
	s := stage{model: says(asks("", call("x"), call("y"))), journal: l, tools: map[string]tools.Tool{
		"x": like(tools.Descriptor{Effect: tools.Idempotent}, func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult(""), nil }), "y": answers("y"),
	}}
	s.play(t)
	s.model, s.tools = says(text("done")), nil
	second := s.goesOn(t, l.begun[0])
	second.ends(t, event.NaturalEnd, "")
	if got := second.results(); !strings.Contains(got[0], "there is no tool") || !strings.Contains(got[1], "may or may not") {
		t.Errorf("the results are %q", got)
	}
}
