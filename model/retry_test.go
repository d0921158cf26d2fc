package model_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

func TestWhichErrorsAreRepeated(t *testing.T) {
	for _, tt := range []struct {
		class model.ErrorClass
		again bool
	}{
		{model.Provider, true},
		{model.RateLimited, true},
		{model.Overloaded, true},
		{model.Timeout, true},
		{model.StreamInterrupted, true},
		{model.ContextOverflow, false},
		{model.InvalidRequest, false},
		{model.Unauthorized, false},
		{model.ModelNotFound, false},
		{model.ContentFiltered, false},
		{model.AllModelsUnavailable, false},
		{model.Canceled, false},
	} {
		a := &attempts{outcomes: []outcome{refuses(tt.class), {text: "hi"}}}
		text, err := ask(t.Context(), &model.Retrying{Executor: a, Policy: model.RetryPolicy{MaxRetries: 1}}, in(""))
		if again := err == nil && text == "hi"; again != tt.again || tt.class.Retryable() != tt.again {
			t.Errorf("%s: the answer is %q, %v", tt.class, text, err)
		}
		if !tt.again && len(a.asked) != 1 {
			t.Errorf("%s: asked %d times", tt.class, len(a.asked))
		}
	}
}

func TestTheLastErrorIsPassedOnUnchanged(t *testing.T) {
	for _, retries := range []int{0, 1, 4} {
		last := &model.Error{Class: model.Overloaded, Message: "still"}
		a := &attempts{outcomes: append(slices.Repeat([]outcome{refuses(model.Provider)}, retries), outcome{err: last}, outcome{text: "too late"})}
		_, err := ask(t.Context(), &model.Retrying{Executor: a, Policy: model.RetryPolicy{MaxRetries: retries}}, in(""))
		if e, ok := errors.AsType[*model.Error](err); !ok || e != last || len(a.asked) != retries+1 {
			t.Errorf("%d retries: asked %d times, the error is %v", retries, len(a.asked), err)
		}
	}
}

func TestAnErrorOfNoClassIsRepeated(t *testing.T) {
	a := &attempts{outcomes: []outcome{{err: errors.New("reset by peer")}, {text: "hi"}}}
	if text, err := ask(t.Context(), &model.Retrying{Executor: a, Policy: model.RetryPolicy{MaxRetries: 1}}, in("")); text != "hi" || err != nil {
		t.Errorf("the answer is %q, %v", text, err)
	}
}

func TestAReaderThatBreaksOffEndsTheCall(t *testing.T) {
	a := &attempts{outcomes: []outcome{{text: "half", err: &model.Error{Class: model.Provider}}}}
	for range (&model.Retrying{Executor: a, Policy: model.RetryPolicy{MaxRetries: 3}}).Stream(t.Context(), &model.Request{}) {
		break
	}
	if len(a.asked) != 1 {
		t.Errorf("asked %d times", len(a.asked))
	}
}

// waits returns how long a call waited before each repetition.
func waits(t *testing.T, policy model.RetryPolicy, out outcome) []time.Duration {
	t.Helper()
	a := &attempts{outcomes: []outcome{out}}
	if _, err := ask(t.Context(), &model.Retrying{Executor: a, Policy: policy}, in("")); err == nil {
		t.Fatal("there is no error")
	}
	var waited []time.Duration
	for i := 1; i < len(a.asked); i++ {
		waited = append(waited, a.asked[i].Sub(a.asked[i-1]))
	}
	return waited
}

func TestWaitsAreRandomUpToADoublingLimit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		base  time.Duration
		over  time.Duration
		class model.ErrorClass
		most  []time.Duration
	}{
		{"default", model.DefaultBackoffBase, model.DefaultOverloadedBackoff, model.Provider,
			[]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second}},
		{"overloaded", model.DefaultBackoffBase, model.DefaultOverloadedBackoff, model.Overloaded,
			[]time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second}},
		{"a base above the limit", time.Minute, 0, model.Provider, []time.Duration{8 * time.Second, 8 * time.Second}},
		{"none", 0, 0, model.Provider, []time.Duration{0, 0, 0}},
		{"none when overloaded", time.Second, 0, model.Overloaded, []time.Duration{0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const samples = 300
				longest := make([]time.Duration, len(tt.most))
				shortest := slices.Clone(tt.most)
				for range samples {
					policy := model.RetryPolicy{MaxRetries: len(tt.most), BackoffBase: tt.base, OverloadedBase: tt.over}
					for i, wait := range waits(t, policy, refuses(tt.class)) {
						longest[i], shortest[i] = max(longest[i], wait), min(shortest[i], wait)
					}
				}
				for i, most := range tt.most {
					// Among so many samples some lie near either end.
					if longest[i] > most || longest[i] < most*9/10 || shortest[i] > most/10 {
						t.Errorf("wait %d lies between %s and %s, want 0 to %s", i, shortest[i], longest[i], most)
					}
				}
			})
		})
	}
}

func TestRetryAfterIsHonouredUpToAMinute(t *testing.T) {
	for _, tt := range []struct{ asked, least, most time.Duration }{
		{10 * time.Second, 10 * time.Second, 10 * time.Second},
		{time.Minute, time.Minute, time.Minute},
		{time.Hour, time.Minute, time.Minute},
		{time.Millisecond, time.Millisecond, 500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			out := outcome{err: &model.Error{Class: model.RateLimited, RetryAfter: tt.asked}}
			got := waits(t, model.RetryPolicy{MaxRetries: 1, BackoffBase: model.DefaultBackoffBase}, out)
			if len(got) != 1 || got[0] < tt.least || got[0] > tt.most {
				t.Errorf("asked to wait %s, it waited %v", tt.asked, got)
			}
		})
	}
}

func TestWaitingEndsWithTheCall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begin func(context.Context) (context.Context, context.CancelFunc)
		class model.ErrorClass
		cause error
	}{
		{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, model.Canceled, context.Canceled},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, model.Timeout, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &attempts{outcomes: []outcome{{err: &model.Error{Class: model.RateLimited, RetryAfter: 30 * time.Second}}}}
				ctx, cancel := tt.begin(t.Context())
				defer cancel()
				begun := time.Now()
				_, err := ask(ctx, &model.Retrying{Executor: a, Policy: model.RetryPolicy{MaxRetries: 5}}, in(""))
				if e := model.AsError(err); e.Class != tt.class || !errors.Is(err, tt.cause) {
					t.Errorf("the error is %v", err)
				}
				if took := time.Since(begun); took != time.Second || len(a.asked) != 1 {
					t.Errorf("it ended after %s and %d attempts", took, len(a.asked))
				}
			})
		})
	}
}

func TestACallWhoseContextEndedIsNotRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &attempts{outcomes: []outcome{refuses(model.Provider)}}
	if _, err := ask(ctx, &model.Retrying{Executor: a, Policy: model.RetryPolicy{MaxRetries: 5}}, in("")); err == nil || len(a.asked) != 1 {
		t.Errorf("asked %d times, the error is %v", len(a.asked), err)
	}
}

func TestAnExecutorThatGoesOnAfterItsErrorIsNotListenedTo(t *testing.T) {
	text, err := ask(t.Context(), &model.Retrying{Executor: stubborn{}}, &model.Request{})
	if text != "a" || err != nil {
		t.Errorf("the answer is %q, %v", text, err)
	}
}

// An executor may begin its answer anew by itself.
func TestAResetFromWithinIsPassedOn(t *testing.T) {
	exec := &played{plays: []play{
		{events: []model.Event{says("a "), calls(0, "x")}, err: broke},
		{events: []model.Event{calls(0, "y"), {Type: model.EventReset}, says("b"), calls(0, "z"), called(0), finish}},
	}}
	a, _, err := collect(t, t.Context(), patient(exec, 1), &model.Request{})
	if err != nil || a.Text() != "b" || len(new(a.Message()).ToolCalls()) != 1 {
		t.Errorf("the answer is %+v, %v", a.Message(), err)
	}
}
