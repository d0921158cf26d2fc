package model_test

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var (
	finish = model.Event{Type: model.EventFinish, Reason: model.FinishStop}
	begin  = model.Event{Type: model.EventToolCallStart, ID: "c", Name: "x"}
	piece  = model.Event{Type: model.EventToolCallDelta, Delta: "{}"}
	end    = model.Event{Type: model.EventToolCallEnd}
)

// add assembles an answer.
func add(t *testing.T, events ...model.Event) *model.Answer {
	t.Helper()
	var a model.Answer
	for i := range events {
		if err := a.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return &a
}

func TestAnAnswerMayBreakAtEveryByte(t *testing.T) {
	const text, args = "Grüße", `{"city":"Köln","n":[1,2]}`
	want := model.Message{Role: model.RoleAssistant, Parts: []model.Part{
		{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: text, Encrypted: "secret", ID: "r1"}},
		model.Text(text),
		{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c", Name: "x", Arguments: []byte(args)}},
	}}
	for n := range len(args) + 1 {
		k := min(n, len(text))
		got := add(t,
			model.Event{Type: model.EventReasoning, Delta: text[:k]}, model.Event{Type: model.EventReasoning, Delta: text[k:]},
			model.Event{Type: model.EventReasoningEncrypted, Delta: "secret", ID: "r1"},
			model.Event{Type: model.EventText, Delta: text[:k]}, model.Event{Type: model.EventText, Delta: text[k:]},
			begin,
			model.Event{Type: model.EventToolCallDelta, Delta: args[:n]},
			model.Event{Type: model.EventToolCallEnd, Delta: args[n:]},
			finish,
		).Message()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("broken at byte %d: %s", n, diff)
		}
	}
}

func TestPiecesOfSeveralCallsMayAlternate(t *testing.T) {
	at := func(ev model.Event, index int, delta string) model.Event {
		ev.Index, ev.Delta = index, delta
		return ev
	}
	got := add(t,
		model.Event{Type: model.EventToolCallStart, Index: 0, ID: "a", Name: "x"}, at(piece, 0, `{"n":`),
		model.Event{Type: model.EventToolCallStart, Index: 1, ID: "b", Name: "y"}, at(piece, 1, `{"m"`),
		at(piece, 0, `1}`), at(end, 0, ""), at(piece, 1, `:2}`), at(end, 1, ""), finish,
	)
	calls := new(got.Message()).ToolCalls()
	want := []*model.ToolCall{
		{ID: "a", Name: "x", Arguments: []byte(`{"n":1}`)},
		{ID: "b", Name: "y", Arguments: []byte(`{"m":2}`)},
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
	if id, name := got.Call(1); id != "b" || name != "y" {
		t.Errorf("call 1 is %s %s", id, name)
	}
	if id, _ := got.Call(2); id != "" {
		t.Errorf("call 2 is %s", id)
	}
}

func TestWhatBreaksTheOrderOfAnAnswer(t *testing.T) {
	for name, events := range map[string][]model.Event{
		"text after the finish":        {finish, {Type: model.EventText, Delta: "x"}},
		"two finishes":                 {finish, finish},
		"a piece of no call":           {piece},
		"the end of no call":           {end},
		"a call with a negative index": {{Type: model.EventToolCallDelta, Index: -1}},
		"a call that skips one":        {{Type: model.EventToolCallStart, Index: 1}},
		"a call that starts twice":     {begin, begin},
		"a piece after the end":        {begin, end, piece},
		"two ends":                     {begin, end, end},
		"a call taken back unborn":     {{Type: model.EventToolCallCancel}},
		"a piece of what was taken":    {begin, {Type: model.EventToolCallCancel}, piece},
		"a number used again":          {begin, {Type: model.EventToolCallCancel}, begin},
		"a piece from before a reset":  {begin, {Type: model.EventReset}, piece},
		"no type":                      {{}},
		"an unknown type":              {{Type: 200}},
	} {
		var a model.Answer
		for i := range events {
			err := a.Add(&events[i])
			last := i == len(events)-1
			e, ok := errors.AsType[*model.Error](err)
			if last != ok || ok && e.Class != model.Provider {
				t.Errorf("%s: event %d gives %v", name, i, err)
			}
		}
	}
}

func TestNoArgumentsAreAnEmptyObject(t *testing.T) {
	for args, want := range map[string]string{"": "{}", "null": "{}", " \nnull\t": "{}", "  ": "{}", "nul": "nul", "{ }": "{ }"} {
		got := add(t, begin, model.Event{Type: model.EventToolCallEnd, Delta: args}, finish)
		if calls := new(got.Message()).ToolCalls(); string(calls[0].Arguments) != want {
			t.Errorf("%q became %q, want %q", args, calls[0].Arguments, want)
		}
	}
}

func TestTheCallsOfAnAnswerHaveDifferentIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a model.Answer
		number := rapid.IntRange(0, 3).Draw(t, "number")
		a.Reset(number)
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "call_1_0", "call_1_1", "call_1_2", "call_2_1"}), 1, 8).Draw(t, "ids")
		seen := make(map[string]bool)
		for i, id := range ids {
			if err := a.Add(&model.Event{Type: model.EventToolCallStart, Index: i, ID: id}); err != nil {
				t.Fatal(err)
			}
			got, _ := a.Call(i)
			if got == "" || seen[got] {
				t.Fatalf("of %q call %d has the id %q", ids, i, got)
			}
			if id != "" && got != id && !seen[id] {
				t.Fatalf("of %q call %d lost its id for %q", ids, i, got)
			}
			seen[got] = true
		}
	})
}

func TestACallTakesNoIDOfAnEarlierOne(t *testing.T) {
	a := model.Answer{Taken: func(id string) bool { return id == "call_0" || id == "call_2_0" }}
	a.Reset(2)
	for i, want := range []string{"call_2_1", "call_1"} {
		if err := a.Add(&model.Event{Type: model.EventToolCallStart, Index: i, ID: []string{"call_0", "call_1"}[i]}); err != nil {
			t.Fatal(err)
		}
		if got, _ := a.Call(i); got != want {
			t.Errorf("call %d has the id %q, want %q", i, got, want)
		}
	}
}

func TestAnAnswerThatIsResetIsEmptyAndLeavesTheOldMessageAlone(t *testing.T) {
	a := add(t, model.Event{Type: model.EventText, Delta: "old"}, begin, piece, end, model.Event{
		Type: model.EventFinish, Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 1},
	})
	old := a.Message()
	a.Reset(2)
	if diff := cmp.Diff(model.Message{Role: model.RoleAssistant}, a.Message(), cmpopts.EquateEmpty()); diff != "" || a.Finished || a.Usage != (model.Usage{}) {
		t.Error(diff)
	}
	for _, ev := range []model.Event{{Type: model.EventText, Delta: "new"}, {Type: model.EventToolCallStart, Name: "z"}, {Type: model.EventToolCallDelta, Delta: "[]"}} {
		if err := a.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	if old.Text() != "old" || string(old.ToolCalls()[0].Arguments) != "{}" {
		t.Errorf("the old message became %+v", old)
	}
	if id, _ := a.Call(0); id != "call_2_0" || a.Text() != "new" {
		t.Errorf("the new answer is %q with call %s", a.Text(), id)
	}
}

func TestAnswerKeepsTheOrderOfItsParts(t *testing.T) {
	t.Parallel()
	var a model.Answer
	for _, ev := range []model.Event{
		{Type: model.EventReasoning, Delta: "first "}, {Type: model.EventReasoning, Delta: "thought"},
		{Type: model.EventReasoningEncrypted, Delta: "s1", ID: "r1"},
		{Type: model.EventToolCallStart, ID: "c1", Name: "look"},
		{Type: model.EventText, Delta: "meanwhile"},
		{Type: model.EventToolCallDelta, Delta: `{"q":1}`}, {Type: model.EventToolCallEnd},
		{Type: model.EventReasoningEncrypted, Delta: "s2", ID: "r2"},
		{Type: model.EventToolCallStart, Index: 1, ID: "c2", Name: "look"}, {Type: model.EventToolCallEnd, Index: 1},
		{Type: model.EventFinish, Reason: model.FinishToolCalls},
	} {
		if err := a.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	want := []model.Part{
		{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "first thought", Encrypted: "s1", ID: "r1"}},
		{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c1", Name: "look", Arguments: []byte(`{"q":1}`)}},
		model.Text("meanwhile"),
		{Type: model.PartReasoning, Reasoning: &model.Reasoning{Encrypted: "s2", ID: "r2"}},
		{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c2", Name: "look", Arguments: []byte(`{}`)}},
	}
	if diff := cmp.Diff(want, a.Message().Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestAnAnswerOwnsNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	var a model.Answer
	ask := func(arguments string) model.Message {
		a.Reset(1)
		for _, ev := range []model.Event{
			{Type: model.EventToolCallStart, ID: "c", Name: "look"},
			{Type: model.EventToolCallDelta, Delta: arguments}, {Type: model.EventToolCallEnd},
		} {
			if err := a.Add(&ev); err != nil {
				t.Fatal(err)
			}
		}
		return a.Message()
	}
	first := ask(`{"q":"first"}`)
	ask(`{"q":"other"}`)
	if got := string(first.ToolCalls()[0].Arguments); got != `{"q":"first"}` {
		t.Errorf("the first answer's arguments became %s", got)
	}
}

func TestWhatIsTakenBackIsNoPartOfTheMessage(t *testing.T) {
	t.Parallel()
	a := add(t,
		model.Event{Type: model.EventServed, ID: "m", Name: "up"},
		says("lost"), calls(0, "lost"), called(0),
		model.Event{Type: model.EventRetry, Retry: &model.Retry{Attempt: 1}}, model.Event{Type: model.EventReset},
		says("kept "), calls(0, "cut"), argument(0, `{"q`),
		model.Event{Type: model.EventRetry, Retry: &model.Retry{Attempt: 2}}, model.Event{Type: model.EventToolCallCancel},
		says("and going on"), calls(1, "cut"), called(1), finish,
	)
	want := []model.Part{
		model.Text("kept and going on"),
		{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "call_0_1", Name: "cut", Arguments: []byte(`{}`)}},
	}
	if diff := cmp.Diff(want, a.Message().Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if id, name := a.Call(0); id != "id-cut" || name != "cut" {
		t.Errorf("the call that was taken back is %s %s", id, name)
	}
	if a.Retries != 2 || a.Served != (model.Served{ID: "m", Upstream: "up"}) {
		t.Errorf("served by %+v after %d repetitions", a.Served, a.Retries)
	}
}
