package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// broke is the error of an answer that breaks off.
var broke = &model.Error{Class: model.StreamInterrupted, Message: "reset by peer"}

func patient(e model.Executor, retries int) *model.Retrying {
	return &model.Retrying{Executor: e, Policy: model.RetryPolicy{MaxRetries: retries, MaxStreamRetries: retries}}
}

func types(events []model.Event) []model.EventType {
	var out []model.EventType
	for i := range events {
		out = append(out, events[i].Type)
	}
	return out
}

// What was shown of an answer that breaks off decides how it goes on. The prefix
// of a text is never lost.
func TestAnAnswerThatBreaksOffIsTakenUpAgain(t *testing.T) {
	thought := model.Event{Type: model.EventReasoning, Delta: "hm"}
	call := func(id, name, arguments string) model.Part {
		return model.Part{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: id, Name: name, Arguments: []byte(arguments)}}
	}
	schema := &spec.OutputSchema{}
	for name, tt := range map[string]struct {
		first  []model.Event
		output *spec.OutputSchema
		second []model.Event
		plan   model.RecoveryPlan
		// continues is the text that the second request asks to go on after.
		continues string
		asked     int
		want      []model.Part
		reason    model.FinishReason
	}{
		"nothing was shown": {
			nil, nil, []model.Event{says("hi"), finish}, "", "", 2, []model.Part{model.Text("hi")}, model.FinishStop,
		},
		"a text goes on": {
			[]model.Event{says("The answer "), says("is ")}, nil, []model.Event{says("42."), finish},
			model.ContinueText, "The answer is ", 2, []model.Part{model.Text("The answer is 42.")}, model.FinishStop,
		},
		"a text goes on with calls": {
			[]model.Event{says("I look. ")}, nil, []model.Event{calls(0, "a"), argument(0, "{}"), called(0), finish},
			model.ContinueText, "I look. ", 2, []model.Part{model.Text("I look. "), call("id-a", "a", "{}")}, model.FinishStop,
		},
		"a complete call is enough": {
			[]model.Event{says("I look. "), calls(0, "a"), argument(0, `{"q":1}`), called(0), calls(1, "b"), argument(1, `{"q`)}, nil, nil,
			model.KeepToolCalls, "", 1, []model.Part{model.Text("I look. "), call("id-a", "a", `{"q":1}`)}, model.FinishToolCalls,
		},
		"a complete call is enough without text": {
			[]model.Event{calls(0, "b"), calls(1, "a"), called(1)}, schema, nil,
			model.KeepToolCalls, "", 1, []model.Part{call("id-a", "a", `{}`)}, model.FinishToolCalls,
		},
		"an incomplete call is dropped": {
			[]model.Event{thought, says("I look. "), calls(0, "a"), argument(0, `{"q`)}, nil,
			[]model.Event{says("Again: "), calls(0, "a"), argument(0, `{"q":2}`), called(0), finish},
			model.DropToolCall, "I look. ", 2, []model.Part{
				{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "hm"}},
				model.Text("I look. Again: "), call("call_0_1", "a", `{"q":2}`),
			}, model.FinishStop,
		},
		"an incomplete call alone is nothing": {
			[]model.Event{calls(0, "a"), argument(0, `{"q`)}, nil, []model.Event{calls(0, "b"), called(0), finish},
			model.Restart, "", 2, []model.Part{call("id-b", "b", `{}`)}, model.FinishStop,
		},
		"a thought alone is nothing": {
			[]model.Event{thought}, nil, []model.Event{says("hi"), finish}, model.Restart, "", 2, []model.Part{model.Text("hi")}, model.FinishStop,
		},
		"white space alone is nothing": {
			[]model.Event{says("\n ")}, nil, []model.Event{says("hi"), finish}, model.Restart, "", 2, []model.Part{model.Text("hi")}, model.FinishStop,
		},
		"a form is begun anew": {
			[]model.Event{says(`{"a":`)}, schema, []model.Event{says(`{"a":1}`), finish}, model.Restart, "", 2, []model.Part{model.Text(`{"a":1}`)}, model.FinishStop,
		},
	} {
		t.Run(name, func(t *testing.T) {
			exec := &played{plays: []play{{events: tt.first, err: broke}, {events: tt.second}}}
			history := []model.Message{model.System("Be brief."), model.User("What is it?")}
			req := &model.Request{Messages: history[:2:2], Output: tt.output}
			a, events, err := collect(t, t.Context(), patient(exec, 1), req)
			if err != nil || len(exec.asked) != tt.asked {
				t.Fatalf("asked %d times, the error is %v", len(exec.asked), err)
			}
			if diff := cmp.Diff(tt.want, a.Message().Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if a.Reason != tt.reason || a.Retries != 1 {
				t.Errorf("the answer ends with %s after %d repetitions", a.Reason, a.Retries)
			}
			retry := events[len(tt.first)]
			if diff := cmp.Diff(&model.Retry{Attempt: 1, Class: model.StreamInterrupted, Plan: tt.plan}, retry.Retry); diff != "" {
				t.Errorf("the repetition (-want +got):\n%s", diff)
			}
			if tt.asked == 1 {
				return
			}
			messages := history
			if tt.continues != "" {
				messages = append(messages, model.Assistant(tt.continues))
			}
			got := exec.asked[1].Messages
			if tt.continues != "" {
				last := got[len(got)-1]
				if last.Role != model.RoleUser || !strings.Contains(last.Text(), "Continue exactly where it broke off") {
					t.Errorf("the last message is %+v", last)
				}
				got = got[:len(got)-1]
			}
			if diff := cmp.Diff(messages, got); diff != "" {
				t.Errorf("the second request (-want +got):\n%s", diff)
			}
			if len(req.Messages) != 2 {
				t.Error("the request was changed")
			}
		})
	}
}

func TestAnAnswerMayBreakOffMoreThanOnce(t *testing.T) {
	exec := &played{plays: []play{
		{events: []model.Event{says("one ")}, err: broke},
		{err: &model.Error{Class: model.Overloaded}},
		{events: []model.Event{says("two "), calls(0, "a")}},
		{events: []model.Event{says("three"), calls(0, "a"), called(0), finish}},
	}}
	a, events, err := collect(t, t.Context(), patient(exec, 3), &model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.EventType{
		model.EventText, model.EventRetry, model.EventRetry, model.EventText, model.EventToolCallStart, model.EventRetry, model.EventToolCallCancel,
		model.EventText, model.EventToolCallStart, model.EventToolCallEnd, model.EventFinish,
	}
	if diff := cmp.Diff(want, types(events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if a.Text() != "one two three" || events[8].Index != 1 {
		t.Errorf("the answer is %q, its call has the number %d", a.Text(), events[8].Index)
	}
	if got := exec.asked[3].Messages[0].Text(); got != "one two " || len(exec.asked[3].Messages) != 2 {
		t.Errorf("the last request continues %q", got)
	}
}

// What opens no stream and what breaks off have one budget.
func TestTheBudgetOfRepetitions(t *testing.T) {
	opening, middle := play{err: broke}, play{events: []model.Event{says("x")}, err: broke}
	for name, tt := range map[string]struct {
		policy model.RetryPolicy
		plays  []play
		asked  int
	}{
		"none in the middle":            {model.RetryPolicy{MaxRetries: 5}, []play{middle}, 1},
		"so many in the middle":         {model.RetryPolicy{MaxRetries: 5, MaxStreamRetries: 2}, []play{middle}, 3},
		"no more than in all":           {model.RetryPolicy{MaxRetries: 1, MaxStreamRetries: 9}, []play{middle}, 2},
		"openings do not use them up":   {model.RetryPolicy{MaxRetries: 5, MaxStreamRetries: 1}, []play{opening, opening, middle, opening, middle}, 5},
		"openings use up what there is": {model.RetryPolicy{MaxRetries: 2, MaxStreamRetries: 2}, []play{opening, middle, middle, middle}, 3},
	} {
		exec := &played{plays: tt.plays}
		_, _, err := collect(t, t.Context(), &model.Retrying{Executor: exec, Policy: tt.policy}, &model.Request{})
		if !errors.Is(err, broke) || len(exec.asked) != tt.asked {
			t.Errorf("%s: asked %d times, want %d; the error is %v", name, len(exec.asked), tt.asked, err)
		}
	}
}

func TestWhatIsNotTakenUpAgain(t *testing.T) {
	for _, class := range []model.ErrorClass{model.ContentFiltered, model.ContextOverflow, model.InvalidRequest, model.Canceled} {
		exec := &played{plays: []play{{events: []model.Event{says("half")}, err: &model.Error{Class: class}}}}
		a, _, err := collect(t, t.Context(), patient(exec, 3), &model.Request{})
		if model.AsError(err).Class != class || len(exec.asked) != 1 || a.Text() != "half" {
			t.Errorf("%s: asked %d times, the error is %v", class, len(exec.asked), err)
		}
	}
}

func TestAStreamThatIsOutOfOrderIsTakenUpAgain(t *testing.T) {
	exec := &played{plays: []play{{events: []model.Event{says("a"), called(3)}}, {events: []model.Event{says("b"), finish}}}}
	a, _, err := collect(t, t.Context(), patient(exec, 1), &model.Request{})
	if err != nil || a.Text() != "ab" {
		t.Errorf("the answer is %q, %v", a.Text(), err)
	}
}

func TestTheUsageOfFailedAttemptsIsAdded(t *testing.T) {
	cost := func(e *model.Usage) error { return &model.Error{Class: model.Provider, Usage: e} }
	last := finish
	last.Usage = &model.Usage{Input: 100, Output: 10}
	exec := &played{plays: []play{{err: cost(&model.Usage{Input: 1, Output: 2})}, {err: cost(nil)}, {err: cost(&model.Usage{Input: 3})}, {events: []model.Event{last}}}}
	a, _, err := collect(t, t.Context(), patient(exec, 3), &model.Request{})
	if err != nil || a.Usage != (model.Usage{Input: 104, Output: 12}) {
		t.Errorf("the usage is %+v, %v", a.Usage, err)
	}
	exec = &played{plays: []play{{events: []model.Event{calls(0, "a"), called(0)}, err: cost(&model.Usage{Input: 5})}}}
	if a, _, err = collect(t, t.Context(), patient(exec, 3), &model.Request{}); err != nil || a.Usage.Input != 5 {
		t.Errorf("the usage of kept calls is %+v, %v", a.Usage, err)
	}
}

func TestASilentStreamIsTakenUpAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exec := &played{plays: []play{{events: []model.Event{says("a")}, silent: time.Hour}, {silent: time.Hour}, {events: []model.Event{says("b"), finish}}}}
		policy := model.RetryPolicy{MaxRetries: 2, MaxStreamRetries: 1, BackoffBase: time.Hour}
		begun := time.Now()
		a, events, err := collect(t, t.Context(), &model.Retrying{Executor: watched(exec, time.Minute), Policy: policy}, &model.Request{})
		if err != nil || a.Text() != "ab" {
			t.Errorf("the answer is %q, %v", a.Text(), err)
		}
		if late := time.Since(begun) - 2*(time.Minute+200*time.Millisecond); late < 0 || late > 2*time.Minute/32 {
			t.Errorf("it took %s longer than the silences", late)
		}
		want := &model.Retry{Attempt: 1, Class: model.Timeout, Plan: model.ContinueText, Wait: 200 * time.Millisecond}
		if diff := cmp.Diff(want, events[1].Retry); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWaitingForARepetitionEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		exec := &played{plays: []play{{events: []model.Event{says("a")}, err: &model.Error{Class: model.RateLimited, RetryAfter: 30 * time.Second}}}}
		a, _, err := collect(t, ctx, patient(exec, 3), &model.Request{})
		if !errors.Is(err, context.Canceled) || len(exec.asked) != 1 || a.Text() != "a" {
			t.Errorf("asked %d times, the error is %v", len(exec.asked), err)
		}
	})
}

// drawn is the play of one attempt: pieces of the text, calls, and where it breaks
// off, if it does.
func drawn(t *rapid.T) play {
	var p play
	open := map[int]bool{}
	started := 0
	for range rapid.IntRange(0, 8).Draw(t, "events") {
		switch kind := rapid.IntRange(0, 4).Draw(t, "event"); {
		case kind <= 1:
			p.events = append(p.events, says(rapid.SampledFrom([]string{"a", "b ", " ", "c"}).Draw(t, "text")))
		case kind == 2:
			p.events = append(p.events, calls(started, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "tool")))
			open[started] = true
			started++
		default:
			for i := range started {
				if !open[i] {
					continue
				}
				ev := argument(i, "1")
				if kind == 4 {
					ev, open[i] = called(i), false
				}
				p.events = append(p.events, ev)
				break
			}
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "end") {
	case 0, 1:
		for i := range started {
			if open[i] {
				p.events = append(p.events, called(i))
			}
		}
		p.events = append(p.events, finish)
	case 2: // it just stops
	case 3:
		p.err = &model.Error{Class: model.InvalidRequest}
	default:
		p.err = broke
	}
	return p
}

// However the attempts of a call break off: it ends with one finish or one error,
// its text is that of all attempts since the last reset, calls that were
// taken back are no part of it, and those that are left are complete.
func TestRecoveryKeepsWhatWasShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exec := &played{plays: rapid.SliceOfN(rapid.Custom(drawn), 1, 5).Draw(t, "plays")}
		req := &model.Request{}
		if rapid.Bool().Draw(t, "output") {
			req.Output = &spec.OutputSchema{}
		}
		policy := model.RetryPolicy{MaxRetries: rapid.IntRange(0, 4).Draw(t, "retries"), MaxStreamRetries: rapid.IntRange(0, 4).Draw(t, "in the middle")}
		var a model.Answer
		var text strings.Builder
		open, gone, ends := map[int]string{}, map[string]bool{}, 0
		for ev, err := range (&model.Retrying{Executor: watched(exec, 0), Policy: policy}).Stream(context.Background(), req) {
			if ends > 0 {
				t.Fatal("something follows the end")
			}
			if err != nil {
				ends++
				continue
			}
			if err := a.Add(&ev); err != nil {
				t.Fatalf("the stream is out of order: %v", err)
			}
			switch ev.Type {
			case model.EventText:
				text.WriteString(ev.Delta)
			case model.EventReset:
				text.Reset()
				clear(open)
				clear(gone)
			case model.EventToolCallStart:
				open[ev.Index], _ = a.Call(ev.Index)
			case model.EventToolCallEnd:
				delete(open, ev.Index)
			case model.EventToolCallCancel:
				gone[open[ev.Index]] = true
				delete(open, ev.Index)
			case model.EventFinish:
				ends++
			default:
			}
		}
		if ends != 1 {
			t.Fatalf("the call has %d ends", ends)
		}
		message := a.Message()
		if message.Text() != text.String() {
			t.Fatalf("the text is %q, shown was %q", message.Text(), text.String())
		}
		for _, call := range message.ToolCalls() {
			if gone[call.ID] {
				t.Fatalf("call %s was taken back", call.ID)
			}
		}
		if a.Finished && len(open) > 0 {
			t.Fatalf("a finished answer has the incomplete calls %v", open)
		}
		if len(exec.asked) > policy.MaxRetries+1 {
			t.Fatalf("asked %d times", len(exec.asked))
		}
		checkRequests(t, exec)
	})
}

// checkRequests checks that each request continues what the attempts before it
// came to.
func checkRequests(t *rapid.T, exec *played) {
	for i, req := range exec.asked {
		if len(req.Messages) == 0 {
			continue // from the beginning
		}
		shown := ""
		for j := i - 1; j >= 0; j-- {
			part := ""
			for _, ev := range exec.plays[min(j, len(exec.plays)-1)].events {
				if ev.Type == model.EventText {
					part += ev.Delta
				}
			}
			shown = part + shown
			if len(exec.asked[j].Messages) == 0 && shown != "" && shown == req.Messages[0].Text() {
				break
			}
		}
		if got := req.Messages[0].Text(); !strings.HasSuffix(shown, got) || strings.TrimSpace(got) == "" {
			t.Fatalf("attempt %d continues %q, shown was %q", i, got, shown)
		}
	}
}

// A consumer may break off at any event, repetitions included.
func TestAConsumerMayBreakOffAnywhere(t *testing.T) {
	plays := []play{
		{events: []model.Event{calls(0, "a")}, err: broke},
		{events: []model.Event{says("one "), calls(0, "a")}, err: broke},
		{events: []model.Event{says("two"), calls(0, "a"), called(0), calls(1, "b")}},
	}
	_, events, err := collect(t, t.Context(), patient(&played{plays: plays}, 3), &model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range events {
		exec := &played{plays: plays}
		pool := model.NewPool("pool", []model.Member{{ID: "m", Weight: 1, Executor: watched(exec, time.Minute), Breaker: model.NewBreaker("m")}}, model.PoolPolicy{})
		var got []model.Event
		for ev, err := range patient(pool, 3).Stream(t.Context(), &model.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == model.EventServed {
				continue
			}
			got = append(got, ev)
			if len(got) > n {
				break
			}
		}
		if diff := cmp.Diff(events[:n+1], got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("broken off at %d (-want +got):\n%s", n, diff)
		}
	}
}
