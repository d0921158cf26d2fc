package scripted_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"pgregory.net/rapid"
)

const turnID = "turn-1"

// withID returns a message as the loop keeps it.
func withID(m model.Message, kind string, step int) model.Message {
	m.ID = fmt.Sprintf("%s/%s%d", turnID, kind, step)
	return m
}

// askTurn asks as a turn does, with a whole answer.
func askTurn(t testing.TB, e model.Executor, messages ...model.Message) (*model.Answer, error) {
	t.Helper()
	return collect(t, e.Stream(t.Context(), &model.Request{Messages: messages, SessionID: t.Name(), TurnID: turnID}))
}

func said(t testing.TB, e model.Executor, messages ...model.Message) string {
	t.Helper()
	a, err := askTurn(t, e, messages...)
	if err != nil {
		return string(model.AsError(err).Class)
	}
	return a.Text()
}

// steps returns the messages of a turn's first n steps, with what the model
// said in them.
func steps(texts ...string) (out []model.Message) {
	for i, text := range texts {
		call := model.Assistant(text)
		call.Parts = append(call.Parts, model.Part{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c", Name: "wc"}})
		out = append(out, withID(call, "m", i+1), withID(result("r"), "t", i+1))
	}
	return out
}

var abc = scripted.Script{Replies: []scripted.Reply{{Text: "a"}, {Text: "b"}, {Text: "c"}, {Text: "d"}}}

// TestAMessageInTheMiddleBeginsNothing proves that only a new turn begins the
// script anew.
func TestAMessageInTheMiddleBeginsNothing(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, abc)
	older := []model.Message{model.User("before"), {ID: "turn-0/m1", Role: model.RoleAssistant, Parts: []model.Part{model.Text("old")}}}
	opened := append(slices.Clone(older), model.System("note"), model.User("go"), model.System("context"))
	for n, want := range []string{"a", "b", "c", "d", "echo: by the way"} {
		messages := append(slices.Clone(opened), steps([]string{"a", "b", "c", "d"}[:n]...)...)
		if got := said(t, e, append(messages, model.User("by the way"))...); got != want {
			t.Errorf("step %d: got %q, want %q", n+1, got, want)
		}
	}
}

// TestLostMessagesCount proves that a turn goes on in its place when a request
// has lost the older of its messages.
func TestLostMessagesCount(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]scripted.Script{
		"in order": abc,
		"with others": {Replies: []scripted.Reply{
			{Match: "never", Text: "x"}, {Text: "a", Error: &scripted.Failure{Class: model.Timeout}}, {Text: "a"}, {Text: "b"}, {Text: "c"}, {Text: "d"},
		}},
	} {
		e := newExecutor(t, script)
		all := steps("a", "b", "c")
		for lost := range 3 {
			messages := append([]model.Message{model.System("summary")}, all[2*lost:]...)
			if got := said(t, e, messages...); got != "d" {
				t.Errorf("%s, without the first %d: got %q, want d", name, lost, got)
			}
		}
		// Only the result of the last step is left.
		if got := said(t, e, model.System("summary"), all[5]); got != "d" {
			t.Errorf("%s, with the last result: got %q, want d", name, got)
		}
	}
}

// TestTurnsAreDeterministic proves that whatever is said to a turn, and
// whatever it loses, each answer follows from the request alone.
func TestTurnsAreDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "replies")
		script := scripted.Script{}
		for i := range n {
			script.Replies = append(script.Replies, scripted.Reply{Text: fmt.Sprint(i)})
		}
		messages := []model.Message{model.User("go")}
		for step := 1; step <= n; step++ {
			if rapid.Bool().Draw(rt, "inject") {
				messages = append(messages, model.User("by the way"))
			}
			if got, want := said(t, newExecutor(t, script), messages...), fmt.Sprint(step-1); got != want {
				rt.Fatalf("step %d: got %q, want %q", step, got, want)
			}
			messages = append(messages, withID(model.Assistant(fmt.Sprint(step-1)), "m", step))
			if keep := rapid.IntRange(1, len(messages)).Draw(rt, "keep"); rapid.Bool().Draw(rt, "trim") {
				messages = slices.Clone(messages[len(messages)-keep:])
			}
		}
	})
}

// TestCompleteCallsOfAFailureStand proves that the reply after a failure is
// still to come when the failed one was kept for its complete call.
func TestCompleteCallsOfAFailureStand(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{
		{Text: "Looking.", ToolCalls: []model.ToolCall{callOf("wc", `{"text":"a"}`), callOf("wc", `{"text":"b"}`)}, Chunks: 2,
			Error: &scripted.Failure{Class: model.StreamInterrupted, AfterChunks: 5}},
		{Text: "done"},
	}})
	a, err := askTurn(t, e, model.User("go"))
	kept := a.Message()
	if err == nil || a.Text() != "Looking." || len(kept.ToolCalls()) != 2 {
		t.Fatalf("got %+v, %v", kept, err)
	}
	kept.Parts = kept.Parts[:2] // the second call is incomplete
	if got := said(t, e, model.User("go"), withID(kept, "m", 1), withID(result("1"), "t", 1)); got != "done" {
		t.Errorf("got %q", got)
	}
}

// TestCutOffCalls proves that a reply whose call was cut off is followed by the
// next one, whether it had a text or left no trace, and that the step it
// belongs to counts once.
func TestCutOffCalls(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "Looking. "} {
		e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{
			{Text: text, ToolCalls: []model.ToolCall{callOf("wc", `{"text":"a`)}, FinishReason: model.FinishMaxTokens},
			{Text: "Again.", ToolCalls: []model.ToolCall{callOf("wc", `{"text":"a"}`)}},
			{Text: "done"},
		}})
		for range 2 { // a run disturbs no other
			messages := []model.Message{model.User("go")}
			a, err := askTurn(t, e, messages...)
			if err != nil || a.Reason != model.FinishMaxTokens {
				t.Fatalf("%q: got %s, %v", text, a.Reason, err)
			}
			asked := slices.Clone(messages)
			if text != "" {
				asked = append(asked, model.Assistant(text))
			}
			again, err := askTurn(t, e, append(asked, model.User("make it shorter"))...)
			if err != nil || again.Text() != "Again." {
				t.Fatalf("%q: got %q, %v", text, again.Text(), err)
			}
			joined := again.Message()
			joined.Parts[0].Text = text + "Again."
			if got := said(t, e, append(messages, withID(joined, "m", 1), withID(result("1"), "t", 1))...); got != "done" {
				t.Errorf("%q: got %q", text, got)
			}
		}
	}
}

// TestStall proves that a reply can fall silent, once or as often as it says,
// and that the silence ends with the call.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{
			{Text: "abcd", Chunks: 4, Error: &scripted.Failure{Stall: true, AfterChunks: 2}}, {Text: "done"},
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		a, err := collect(t, e.Stream(ctx, &model.Request{Messages: []model.Message{model.User("go")}}))
		if a.Text() != "ab" || model.AsError(err).Class != model.Timeout || time.Since(begun) != time.Minute {
			t.Errorf("got %q, %v after %s", a.Text(), err, time.Since(begun))
		}
		if a, err := collect(t, e.Stream(t.Context(), &model.Request{Messages: []model.Message{model.User("go")}})); err != nil || a.Text() != "done" {
			t.Errorf("got %q, %v", a.Text(), err)
		}
	})
}

// TestEveryRecoveryCanBeScripted proves that each way in which an answer is
// taken up again meets the reply that is meant for it, and that the step after
// it gets the next one.
func TestEveryRecoveryCanBeScripted(t *testing.T) {
	t.Parallel()
	broken := func(r scripted.Reply, after int) scripted.Reply {
		r.Error = &scripted.Failure{Class: model.StreamInterrupted, AfterChunks: after}
		return r
	}
	call := []model.ToolCall{callOf("wc", `{"text":"a"}`)}
	for name, tt := range map[string]struct {
		replies []scripted.Reply
		plan    model.RecoveryPlan
		text    string
		calls   int
	}{
		"continue the text": {[]scripted.Reply{broken(scripted.Reply{Text: "It is"}, 1), {Text: " sunny.", ToolCalls: call}}, model.ContinueText, "It is sunny.", 1},
		"keep the call":     {[]scripted.Reply{broken(scripted.Reply{Text: "See.", Chunks: 1, ToolCalls: call}, 2)}, model.KeepToolCalls, "See.", 1},
		"drop the call":     {[]scripted.Reply{broken(scripted.Reply{Text: "Se", Chunks: 2, ToolCalls: call}, 3), {Text: "e.", ToolCalls: call}}, model.DropToolCall, "See.", 1},
		"begin anew":        {[]scripted.Reply{broken(scripted.Reply{Reasoning: "Hm."}, 1), {Text: "See.", ToolCalls: call}}, model.Restart, "See.", 1},
		"incomplete call":   {[]scripted.Reply{broken(scripted.Reply{Chunks: 2, ToolCalls: call}, 1), {Text: "See.", ToolCalls: call}}, model.Restart, "See.", 1},
	} {
		e := newExecutor(t, scripted.Script{Replies: append(tt.replies, scripted.Reply{Text: "done"})})
		retrying := &model.Retrying{Executor: e, Policy: model.RetryPolicy{MaxRetries: 2, MaxStreamRetries: 2}}
		plan := model.RecoveryPlan("")
		watched := func(yield func(model.Event, error) bool) {
			req := &model.Request{Messages: []model.Message{model.User("go")}, SessionID: name, TurnID: turnID}
			for ev, err := range retrying.Stream(t.Context(), req) {
				if ev.Retry != nil {
					plan = ev.Retry.Plan
				}
				if !yield(ev, err) {
					return
				}
			}
		}
		a, err := collect(t, watched)
		answer := a.Message()
		if err != nil || a.Text() != tt.text || len(answer.ToolCalls()) != tt.calls || plan != tt.plan {
			t.Fatalf("%s: got %q with %d calls by %q, %v", name, a.Text(), len(answer.ToolCalls()), plan, err)
		}
		if got := said(t, e, model.User("go"), withID(answer, "m", 1), withID(result("1"), "t", 1)); got != "done" {
			t.Errorf("%s: the next step got %q", name, got)
		}
	}
}
