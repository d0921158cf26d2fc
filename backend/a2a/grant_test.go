package a2a

import (
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// reporting returns an event with the task's usage so far.
func reporting(carrier interface {
	a2a.Event
	a2a.MetadataCarrier
}, tokens int, cost float64, steps int) a2a.Event {
	a2awire.SetReport(carrier, &a2awire.Report{
		Usage: event.Usage{Input: tokens, Output: tokens}, Cost: &event.Cost{Amount: cost, Currency: "EUR"}, Steps: steps,
	})
	return carrier
}

func TestThePeerIsToldWhatIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Completed, "hi"))}})
	r.script.Extend()
	r.job.Depth = 2
	above := backend.NewMeter(nil, &spec.Budgets{MaxTokens: new(1000), MaxToolCalls: new(3)}, backend.Spent{Tokens: 400})
	r.job.Meter = backend.NewMeter(above, &spec.Budgets{MaxDuration: new(spec.Duration(time.Minute)), MaxCost: new(2.5), MaxModelCalls: new(7)}, backend.Spent{Cost: 1})
	r.remote.peer.Endpoint.Timeout = new(spec.Duration(time.Hour))
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := r.script.Got(peertest.MethodStream)[0]
	got, err := a2awire.GrantOf(sent.Message(t).Metadata)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if left := time.Until(got.Deadline); left < 50*time.Second || left > time.Minute {
		t.Errorf("%s are left", left)
	}
	got.Deadline = time.Time{}
	want := &a2awire.Grant{Depth: 2, MaxTokens: new(600), MaxCost: new(1.5), Currency: "USD", MaxModelCalls: new(7), MaxToolCalls: new(3)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if sent.Message(t).Extensions[0] != a2awire.Extension || sent.Header.Get("A2A-Extensions") != a2awire.Extension {
		t.Errorf("the extension is not named: %v, %v", sent.Message(t).Extensions, sent.Header)
	}
}

func TestAnotherPeerIsToldNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(reporting(peertest.Task(peertest.Completed, "hi"), 100, 1, 5))}})
	r.job.Meter = backend.NewMeter(nil, &spec.Budgets{MaxTokens: new(10)}, backend.Spent{})
	res, err := r.run(t.Context())
	if err != nil || res.Usage.Total() != 0 || res.Cost != nil || res.Steps != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if m := r.script.Got(peertest.MethodStream)[0].Message(t); m.Metadata != nil || m.Extensions != nil {
		t.Errorf("it gets %v, %v", m.Metadata, m.Extensions)
	}
}

func TestWhatThePeerUsedIsCountedOnce(t *testing.T) {
	t.Parallel()
	done := peertest.Turned(peertest.Completed, "")
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {
		peertest.StreamOf(reporting(peertest.Task(peertest.Working, ""), 10, 0.5, 1), reporting(peertest.Turned(peertest.Working, "on it"), 30, 1, 2), reporting(asking(inputRequired, "Go on?"), 30, 1, 2)),
		peertest.StreamOf(reporting(peertest.Task(peertest.Working, ""), 20, 0.5, 1), peertest.Words("hi"), reporting(done, 50, 1.75, 4)),
	}})
	r.script.Extend()
	r.job.Meter = backend.NewMeter(nil, &spec.Budgets{MaxTokens: new(100)}, backend.Spent{})
	state, request := r.wait()
	if state.Stats.Usage.Total() != 60 || state.Stats.Cost != 1 || state.Spent.Tokens != 60 || state.Stats.Steps != 3 {
		t.Errorf("so far it has used %+v, %+v", state.Stats, state.Spent)
	}
	r.next(state, resume(request.ID, `"yes"`))
	r.job.Meter = backend.NewMeter(nil, state.Budgets, state.Spent)
	res, err := r.run(t.Context())
	if err != nil || res.Usage != (model.Usage{Input: 50, Output: 50}) || res.Cost.Amount != 1.75 || res.Cost.Currency != "EUR" || res.Steps != 6 {
		t.Errorf("%+v, %v", res, err)
	}
	if spent := r.job.Meter.Spent(); spent.Tokens != 100 || spent.Cost != 1.75 {
		t.Errorf("it has spent %+v", spent)
	}
}

func TestAPeerThatUsesMoreThanIsLeft(t *testing.T) {
	t.Parallel()
	replies := func(last a2a.TaskState) map[string][]peertest.Reply {
		return map[string][]peertest.Reply{
			peertest.MethodStream: {peertest.OpenStream(peertest.Words("hi"), reporting(peertest.Turned(last, ""), 60, 0, 1))}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))},
		}
	}
	for last, want := range map[a2a.TaskState]event.Termination{
		peertest.Working:   {Type: event.BudgetExceeded, Code: backend.BudgetTokens},
		peertest.Completed: {Type: event.NaturalEnd}, // existing output is not discarded
	} {
		r := newRig(t, replies(last))
		r.script.Extend()
		r.job.Meter = backend.NewMeter(nil, &spec.Budgets{MaxTokens: new(100)}, backend.Spent{})
		res, err := r.run(t.Context())
		got := termination(res, err)
		if got.Type != want.Type || got.Code != want.Code || res.Response != "hi" || res.Usage.Total() != 120 {
			t.Errorf("%s: it ends by %+v with %+v", last, got, res)
		}
		if n := len(r.script.Got(peertest.MethodCancel)); (n == 1) != (last == peertest.Working) {
			t.Errorf("%s: the task is ended %d times", last, n)
		}
	}
}

func TestAReportThatIsWrongCountsForNothing(t *testing.T) {
	t.Parallel()
	wrong := peertest.Task(peertest.Working, "")
	wrong.Metadata = map[string]any{a2awire.Extension: map[string]any{"usage": map[string]any{"input_tokens": -1e300}}}
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(wrong, reporting(peertest.Turned(peertest.Completed, ""), 7, 0, 1))}, peertest.MethodGet: {peertest.Result(peertest.Task(peertest.Completed, "hi"))}})
	r.script.Extend()
	if res, err := r.run(t.Context()); err != nil || res.Usage.Total() != 14 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestWhenAPeerIsNotAsked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(job *backend.Job)
		want event.Termination
	}{
		"too deep": {func(job *backend.Job) { job.Depth = 6 }, event.Termination{Type: event.Failed, Code: client.CodeDepth}},
		"no tokens": {func(job *backend.Job) {
			job.Meter = backend.NewMeter(nil, &spec.Budgets{MaxTokens: new(10)}, backend.Spent{Tokens: 10})
		}, event.Termination{Type: event.BudgetExceeded, Code: backend.BudgetTokens}},
		"no model calls": {func(job *backend.Job) {
			job.Meter = backend.NewMeter(nil, &spec.Budgets{MaxModelCalls: new(1)}, backend.Spent{ModelCalls: 1})
		}, event.Termination{Type: event.BudgetExceeded, Code: backend.BudgetModelCalls}},
		"too much money": {func(job *backend.Job) {
			job.Meter = backend.NewMeter(nil, &spec.Budgets{MaxCost: new(1.0)}, backend.Spent{Cost: 2})
		}, event.Termination{Type: event.BudgetExceeded, Code: backend.BudgetCost}},
	} {
		r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Completed, "hi"))}})
		tt.set(r.job)
		res, err := r.run(t.Context())
		if got := termination(res, err); got.Type != tt.want.Type || got.Code != tt.want.Code || len(r.script.Got(peertest.MethodStream)) != 0 {
			t.Errorf("%s: it ends by %+v", name, got)
		}
		checkTurn(t, r, res, err)
	}
}
