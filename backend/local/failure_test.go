package local_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools"
)

func TestModelErrors(t *testing.T) {
	plain := errors.New("socket closed")
	for _, tt := range []struct {
		name   string
		err    error
		reason event.Reason
		code   string
	}{
		{"provider", &model.Error{Class: model.Provider}, event.Failed, "provider"},
		{"rate limited", &model.Error{Class: model.RateLimited}, event.Failed, "rate_limited"},
		{"overloaded", &model.Error{Class: model.Overloaded}, event.Failed, "overloaded"},
		{"timeout", &model.Error{Class: model.Timeout}, event.Failed, "timeout"},
		{"interrupted", &model.Error{Class: model.StreamInterrupted}, event.Failed, "stream_interrupted"},
		{"overflow", &model.Error{Class: model.ContextOverflow}, event.Failed, "context_overflow"},
		{"invalid", &model.Error{Class: model.InvalidRequest}, event.Failed, "invalid_request"},
		{"unauthorized", &model.Error{Class: model.Unauthorized}, event.Failed, "unauthorized"},
		{"not found", &model.Error{Class: model.ModelNotFound}, event.Failed, "model_not_found"},
		{"filtered", &model.Error{Class: model.ContentFiltered}, event.Failed, "content_filtered"},
		{"no model", &model.Error{Class: model.AllModelsUnavailable}, event.Failed, "all_models_unavailable"},
		{"cancelled", &model.Error{Class: model.Canceled}, event.Canceled, ""},
		{"of no class", plain, event.Failed, "provider"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ended := false
			got := stage{
				model: says(asks("first", call("x")), fails(tt.err)),
				tools: map[string]tools.Tool{"x": answers("ok")},
				plugins: []plugin{on(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
					ended = p.Termination.Type == tt.reason
					return nil
				})},
			}.play(t)
			got.ends(t, tt.reason, tt.code)
			if !errors.Is(got.err, tt.err) {
				t.Errorf("the error is %v", got.err)
			}
			if !ended || got.Response != "first" || len(got.Messages) != 2 || got.Steps != 2 {
				t.Errorf("RunEnd knew %t; the turn keeps %q, %d messages, %d steps", ended, got.Response, len(got.Messages), got.Steps)
			}
		})
	}
}

func TestStreamsThatBreakTheirContract(t *testing.T) {
	finish := model.Event{Type: model.EventFinish, Reason: model.FinishStop}
	word := model.Event{Type: model.EventText, Delta: "word"}
	// deaf continues after it was told to stop.
	deaf := func(events ...model.Event) reply {
		return func(_ context.Context, yield func(model.Event, error) bool) {
			for _, ev := range events {
				yield(ev, nil)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		reply reply
		code  string
		shown int // deltas of text
	}{
		{"nothing", streams(), "stream_interrupted", 0},
		{"no finish", streams(word), "stream_interrupted", 1},
		{"text after the finish", streams(finish, word), "provider", 0},
		{"two finishes", streams(finish, finish), "provider", 0},
		{"an error after the finish", func(_ context.Context, yield func(model.Event, error) bool) {
			_ = yield(finish, nil) && yield(model.Event{}, &model.Error{Class: model.Overloaded})
		}, "overloaded", 0},
		{"a call that never started", streams(model.Event{Type: model.EventToolCallDelta, Delta: "{}"}), "provider", 0},
		{"a call out of order", streams(model.Event{Type: model.EventToolCallStart, Index: 1}), "provider", 0},
		{"an unknown event", streams(model.Event{Type: 99}), "provider", 0},
		{"an executor that does not stop", deaf(word, model.Event{Type: 99}, word, word, finish), "provider", 1},
		{"content filter", streams(model.Event{Type: model.EventFinish, Reason: model.FinishContentFilter}), "content_filtered", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stage{model: says(tt.reply)}.play(t)
			got.ends(t, event.Failed, tt.code)
			shown := 0
			for _, typ := range got.types() {
				if typ == event.TypeTextDelta {
					shown++
				}
			}
			if shown != tt.shown {
				t.Errorf("%d pieces of text were shown, want %d", shown, tt.shown)
			}
			if _, ok := errors.AsType[*model.Error](got.err); !ok {
				t.Errorf("the error is %T", got.err)
			}
		})
	}
}

func TestAModelThatPanicsFailsTheTurn(t *testing.T) {
	ended := false
	got := stage{
		model: says(asks("first", call("x")), func(_ context.Context, yield func(model.Event, error) bool) {
			yield(model.Event{Type: model.EventText, Delta: "half"}, nil)
			panic("oops")
		}),
		tools: map[string]tools.Tool{"x": answers("ok")},
		plugins: []plugin{on(plugins.RunEnd, func(context.Context, *plugins.PhaseContext) error {
			ended = true
			return nil
		})},
	}.play(t)
	got.ends(t, event.Failed, backend.CodePanic)
	failure, ok := errors.AsType[*backend.PanicError](got.err)
	if !ok || failure.Value != "oops" || len(failure.Stack) == 0 {
		t.Errorf("the error is %v", got.err)
	}
	if !ended || got.Response != "first" || len(got.Messages) != 2 {
		t.Errorf("RunEnd ran %t; the turn keeps %q and %d messages", ended, got.Response, len(got.Messages))
	}
}

func TestAnEffectThatPanicsDoesNotFailTheTurn(t *testing.T) {
	got := stage{
		model: says(text("done")),
		plugins: []plugin{func(r *plugins.Registrar) {
			r.EffectHandler("boom", func(context.Context, any) error { panic("oops") })
			r.Hook(plugins.StepEnd, func(_ context.Context, p *plugins.PhaseContext) error { p.Effect("boom", nil); return nil })
		}},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
}

func TestAPanicWhileAnEventIsEmittedFailsTheTurn(t *testing.T) {
	play := func(at int) scene {
		n := 0
		return stage{
			model: says(asks("try", callWith("a", "x", "{}"), callWith("b", "x", "{}")), text("done")),
			tools: map[string]tools.Tool{"x": answers("ok")},
			sees: func(event.Data) {
				if n++; n == at {
					panic("sink")
				}
			},
		}.play(t)
	}
	whole := play(0)
	whole.ends(t, event.NaturalEnd, "")
	for at := 1; at <= len(whole.events); at++ {
		got := play(at)
		if got.Termination.Code != backend.CodePanic || got.err == nil {
			t.Errorf("event %d: the turn ended by %+v", at, got.Termination)
		}
		for i := range got.Messages {
			if got.Messages[i].HasToolCalls() && i+1 == len(got.Messages) {
				t.Errorf("event %d: the conversation ends in calls without results", at)
			}
		}
	}
}

func TestAPanicWhileAnEventIsEmittedCancelsTheCallsThatRun(t *testing.T) {
	canceled := make(chan struct{})
	got := stage{
		model: says(asks("", call("waits"), call("talks")), text("done")),
		tools: map[string]tools.Tool{
			"waits": like(tools.Descriptor{Timeout: tools.NoTimeout}, func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
				<-ctx.Done()
				close(canceled)
				return tools.Result{}, ctx.Err()
			}),
			"talks": does(func(_ context.Context, c *tools.Call) (tools.Result, error) {
				c.Host.Progress("working")
				return tools.Result{}, nil
			}),
		},
		sees: func(d event.Data) {
			if d.Type() == event.TypeToolCallStreamDelta {
				panic("sink")
			}
		},
	}.play(t)
	<-canceled
	got.ends(t, event.Failed, backend.CodePanic)
}
