package model_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// paced is a model that lets a time pass before each of its events.
type paced []time.Duration

func (p paced) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for i, wait := range p {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				yield(model.Event{}, model.AsError(ctx.Err()))
				return
			}
			ev := model.Event{Type: model.EventText, Delta: "x"}
			if i == len(p)-1 {
				ev = finish
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func TestASilentStreamIsCanceled(t *testing.T) {
	level := func(text string) model.Params { return model.Params{ReasoningEffort: &spec.Effort{Level: text}} }
	const limit = 60 * time.Second
	for name, tt := range map[string]struct {
		req   model.Request
		waits paced
		after time.Duration
		text  string
	}{
		"from the beginning":    {model.Request{}, paced{time.Hour}, limit, noToken("60s")},
		"after some events":     {model.Request{}, paced{50 * time.Second, 59 * time.Second, time.Hour}, 169 * time.Second, "the stream was silent for 60s"},
		"thinks, by its name":   {model.Request{Model: "Kimi-Thinking"}, paced{time.Hour}, 2 * limit, noToken("120s")},
		"reasons, by its name":  {model.Request{Model: "grok-4-reasoning"}, paced{time.Hour}, 2 * limit, noToken("120s")},
		"a family that thinks":  {model.Request{Model: "openai/o3-mini"}, paced{time.Hour}, 2 * limit, noToken("120s")},
		"no family that thinks": {model.Request{Model: "foo1"}, paced{time.Hour}, limit, noToken("60s")},
		"told to think":         {model.Request{Params: level("low")}, paced{time.Hour}, 2 * limit, noToken("120s")},
		"told to think so long": {model.Request{Params: model.Params{ReasoningEffort: &spec.Effort{Budget: 9}}}, paced{time.Hour}, 2 * limit, noToken("120s")},
		"told not to think":     {model.Request{Params: level("none")}, paced{time.Hour}, limit, noToken("60s")},
		"never silent for long": {model.Request{}, paced{59 * time.Second, 59 * time.Second, 59 * time.Second}, 177 * time.Second, ""},
		"an answer at once":     {model.Request{}, paced{0, 0}, 0, ""},
		"silent as it may be":   {model.Request{Model: "o1"}, paced{119 * time.Second, 119 * time.Second}, 238 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				_, err := ask(t.Context(), watched(tt.waits, limit), &tt.req)
				late := time.Since(begun) - tt.after
				if late < 0 || late > limit/32 || late > 0 && tt.text == "" {
					t.Errorf("it ended %s after %s", late, tt.after)
				}
				if tt.text == "" {
					if err != nil {
						t.Errorf("the error is %v", err)
					}
					return
				}
				if e := model.AsError(err); e.Class != model.Timeout || e.Message != tt.text {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

// noToken returns the message for a stream that was silent from the beginning.
func noToken(limit string) string {
	return "no token came within " + limit + "; first_token_timeout of the section retry sets this limit"
}

func watched(e model.Executor, idle time.Duration) *model.Watched {
	return &model.Watched{Executor: e, Idle: idle, FirstToken: idle}
}

func TestTheTimeOfTheConsumerDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		for _, err := range watched(paced{time.Second, time.Second, 59 * time.Second}, time.Minute).Stream(t.Context(), &model.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			time.Sleep(time.Hour) // the bubble's clock: no time passes
		}
		if n != 3 {
			t.Errorf("there were %d events", n)
		}
	})
}

func TestAStreamMayBeSilentForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := ask(t.Context(), watched(paced{24 * time.Hour, time.Hour}, 0), &model.Request{}); err != nil {
			t.Error(err)
		}
	})
}

func TestACallThatIsCanceledIsNotTakenForSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := ask(ctx, watched(paced{time.Hour}, time.Minute), &model.Request{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestAStreamWithoutAnEnd(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		play play
		want model.ErrorClass
	}{
		"nothing":   {t.Context(), play{}, model.StreamInterrupted},
		"half":      {t.Context(), play{events: []model.Event{says("half")}}, model.StreamInterrupted},
		"cancelled": {canceled, play{}, model.Canceled},
	} {
		for idle := range time.Duration(2) {
			_, err := ask(tt.ctx, watched(&played{plays: []play{tt.play}}, idle*time.Minute), &model.Request{})
			if model.AsError(err).Class != tt.want {
				t.Errorf("%s: the error is %v", name, err)
			}
		}
	}
}

// stubborn is an executor that goes on whatever it is told.
type stubborn struct{}

func (stubborn) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(says("a"), nil)
		yield(finish, nil)
		yield(says("late"), nil)
		yield(model.Event{}, errors.New("late"))
	}
}

func TestWhatFollowsTheEndIsDropped(t *testing.T) {
	text, err := ask(t.Context(), watched(stubborn{}, time.Minute), &model.Request{})
	if text != "a" || err != nil {
		t.Errorf("the answer is %q, %v", text, err)
	}
	for range watched(stubborn{}, time.Minute).Stream(t.Context(), &model.Request{}) {
		break
	}
}

// mute is an executor that ends with its context, and does not say so.
type mute struct{}

func (mute) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(func(model.Event, error) bool) { <-ctx.Done() }
}

func TestAStreamThatEndsWithoutAWordWhenItIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := ask(t.Context(), watched(mute{}, time.Minute), &model.Request{})
		if e := model.AsError(err); e.Class != model.Timeout || e.Message != noToken("60s") {
			t.Errorf("the error is %v", err)
		}
	})
}

// pinging answers after some time, of which the server tells every 10 s that it is alive.
type pinging time.Duration

func (p pinging) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		report := model.ActivityReporter(ctx)
		for range time.Duration(p) / (10 * time.Second) {
			select {
			case <-time.After(10 * time.Second):
				report()
			case <-ctx.Done():
				yield(model.Event{}, model.AsError(ctx.Err()))
				return
			}
		}
		_ = yield(model.Event{Type: model.EventText, Delta: "x"}, nil) && yield(finish, nil)
	}
}

func TestBytesWithoutAnEventEndASilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := ask(t.Context(), watched(pinging(10*time.Minute), time.Minute), &model.Request{}); err != nil {
			t.Error(err)
		}
	})
}

func TestTheFirstTokenHasALimitOfItsOwn(t *testing.T) {
	for name, tt := range map[string]struct {
		first, idle time.Duration
		waits       paced
		class       model.ErrorClass
	}{
		"a long prompt":         {10 * time.Minute, time.Minute, paced{9 * time.Minute, 0}, ""},
		"too long a prompt":     {10 * time.Minute, time.Minute, paced{11 * time.Minute, 0}, model.Timeout},
		"silence in the middle": {10 * time.Minute, time.Minute, paced{time.Second, 2 * time.Minute, 0}, model.Timeout},
		"for ever":              {0, time.Minute, paced{24 * time.Hour, 0}, ""},
		"only the first":        {time.Minute, 0, paced{time.Second, 24 * time.Hour}, ""},
		"only the first, late":  {time.Minute, 0, paced{time.Hour, 0}, model.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exec := &model.Watched{Executor: tt.waits, Idle: tt.idle, FirstToken: tt.first}
				_, err := ask(t.Context(), exec, &model.Request{})
				if tt.class == "" != (err == nil) || err != nil && model.AsError(err).Class != tt.class {
					t.Errorf("the error is %v, want the class %q", err, tt.class)
				}
			})
		})
	}
}

func TestAnAnswerWithoutContentIsAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		events []model.Event
		empty  bool
	}{
		"nothing":            {[]model.Event{finish}, true},
		"white space":        {[]model.Event{{Type: model.EventText, Delta: " \n"}, finish}, true},
		"reasoning":          {[]model.Event{{Type: model.EventReasoning, Delta: "hm"}, finish}, true},
		"text":               {[]model.Event{{Type: model.EventText, Delta: "a"}, finish}, false},
		"a call":             {[]model.Event{{Type: model.EventToolCallStart, Name: "f"}, {Type: model.EventToolCallEnd}, {Type: model.EventFinish, Reason: model.FinishToolCalls}}, false},
		"text that was lost": {[]model.Event{{Type: model.EventText, Delta: "a"}, {Type: model.EventReset}, finish}, true},
		"cut off":            {[]model.Event{{Type: model.EventFinish, Reason: model.FinishMaxTokens}}, false},
		"withheld":           {[]model.Event{{Type: model.EventFinish, Reason: model.FinishContentFilter}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t.Context(), watched(replies(tt.events), time.Minute), &model.Request{})
			if tt.empty != (err != nil) || err != nil && model.AsError(err).Class != model.EmptyAnswer {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if !model.EmptyAnswer.Retryable() {
		t.Error("an empty answer is not repeated")
	}
}

// replies answers with events.
type replies []model.Event

func (r replies) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for _, ev := range r {
			if !yield(ev, nil) {
				return
			}
		}
	}
}
