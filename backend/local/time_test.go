package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

// outlast waits, in the bubble's time, until a tool that ignores its context has also returned. The
// bubble then ends only if no goroutine is left.
func outlast() { time.Sleep(72 * time.Hour) }

// obeys is a tool that works until its context ends.
func obeys(limit time.Duration) tools.Tool {
	return like(tools.Descriptor{Timeout: limit}, func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		<-ctx.Done()
		return tools.Result{}, fmt.Errorf("work: %w", ctx.Err())
	})
}

// ignores is a tool that works for the given time and ignores its context.
func ignores(limit, work time.Duration) tools.Tool {
	return like(tools.Descriptor{Timeout: limit}, func(_ context.Context, c *tools.Call) (tools.Result, error) {
		time.Sleep(work)
		c.Host.Progress("still here")
		return tools.TextResult("finished"), nil
	})
}

func TestTheTimeLimitOfACall(t *testing.T) {
	for _, tt := range []struct {
		name string
		tool tools.Tool
		want string
		took time.Duration
	}{
		{"in time", ignores(time.Minute, 59*time.Second), "c finished", 59 * time.Second},
		{"the tool stops", obeys(time.Minute), "c! tool x did not finish within 1m0s", time.Minute},
		{"the default", obeys(0), "c! tool x did not finish within 1m0s", time.Minute},
		{"the tool is a little late", ignores(time.Minute, time.Minute+100*time.Millisecond), "c finished", time.Minute + 100*time.Millisecond},
		{"the call is abandoned", ignores(time.Second, time.Hour), "c! tool x did not finish within 1s", 1500 * time.Millisecond},
		{"no limit", ignores(tools.NoTimeout, 48*time.Hour), "c finished", 48 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				got := stage{
					model: says(asks("", callWith("c", "x", "{}")), text("done")),
					tools: map[string]tools.Tool{"x": tt.tool},
				}.play(t)
				got.ends(t, event.NaturalEnd, "")
				if diff := cmp.Diff([]string{tt.want}, got.results()); diff != "" {
					t.Error(diff)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("the turn took %s, want %s", took, tt.took)
				}
				outlast()
				for _, d := range got.events {
					if done, ok := d.(*event.ToolCallDone); ok && done.DurationMS != tt.took.Milliseconds() {
						t.Errorf("the call took %d ms, want %s", done.DurationMS, tt.took)
					}
				}
			})
		})
	}
}

func TestACallThatWasGivenUpIsHeardNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := stage{
			model: says(asks("", callWith("a", "stuck", "{}"), callWith("b", "slow", "{}")), text("done")),
			tools: map[string]tools.Tool{
				"stuck": ignores(time.Second, 10*time.Second),
				"slow":  ignores(time.Minute, 20*time.Second),
			},
		}.play(t)
		outlast()
		got.ends(t, event.NaturalEnd, "")
		if diff := cmp.Diff([]string{"a! tool stuck did not finish within 1s", "b finished"}, got.results()); diff != "" {
			t.Error(diff)
		}
		var shown []string
		for _, d := range got.events {
			if d, ok := d.(*event.ToolCallStreamDelta); ok {
				shown = append(shown, d.ID)
			}
		}
		if diff := cmp.Diff([]string{"b"}, shown); diff != "" {
			t.Errorf("progress after the end: %s", diff)
		}
	})
}

// silent is a model that emits half a word and then waits for its context.
func silent(ctx context.Context, yield func(model.Event, error) bool) {
	if yield(model.Event{Type: model.EventText, Delta: "ha"}, nil) {
		<-ctx.Done()
		yield(model.Event{}, model.AsError(ctx.Err()))
	}
}

// endless is a stream that ignores its context.
func endless(_ context.Context, yield func(model.Event, error) bool) {
	for yield(model.Event{Type: model.EventText, Delta: "and "}, nil) {
		time.Sleep(3 * time.Second)
	}
}

func TestATurnThatIsGivenUp(t *testing.T) {
	const after = 10 * time.Second
	sleeps := func(ctx context.Context, _ *plugins.PhaseContext) error {
		<-ctx.Done()
		return fmt.Errorf("hook: %w", ctx.Err())
	}
	first := asks("first", callWith("c", "x", "{}"), callWith("d", "x", "{}"))
	for _, tt := range []struct {
		name    string
		stage   stage
		took    time.Duration
		results []string
	}{
		{"in the stream", stage{model: says(silent)}, after, nil},
		{"in a stream that does not care", stage{model: says(endless)}, after + 2*time.Second, nil},
		{"in a later stream", stage{model: says(first, silent), tools: map[string]tools.Tool{"x": answers("ok")}}, after, []string{"c ok", "d ok"}},
		{"in a tool", stage{model: says(first), tools: map[string]tools.Tool{"x": obeys(time.Minute)}}, after,
			[]string{"c! tool x was canceled", "d! tool x was canceled"}},
		{"in a tool that does not care", stage{model: says(first), tools: map[string]tools.Tool{"x": ignores(time.Minute, time.Hour)}}, after + 500*time.Millisecond,
			[]string{"c! tool x was canceled", "d! tool x was canceled"}},
		{"in the first of two tools", stage{model: says(first), agent: spec.Agent{ToolExecution: spec.Sequential}, tools: map[string]tools.Tool{"x": obeys(time.Minute)}}, after,
			[]string{"c! tool x was canceled", "d! [Tool execution was interrupted]"}},
		{"in the first of two serial tools", stage{model: says(first), tools: map[string]tools.Tool{"x": like(tools.Descriptor{Serial: true},
			func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
				<-ctx.Done()
				return tools.TextResult("late"), nil
			})}}, after,
			[]string{"c late", "d! [Tool execution was interrupted]"}},
		{"in a gate", stage{model: says(first), tools: map[string]tools.Tool{"x": answers("ok")},
			plugins: []plugin{gate(func(ctx context.Context, _ *plugins.PhaseContext) (plugins.Decision, error) {
				<-ctx.Done()
				return plugins.Decision{}, ctx.Err()
			})}}, after,
			[]string{"c! plugin p0 could not decide: context canceled", "d! [Tool execution was interrupted]"}},
		{"in RunStart", stage{model: says(first), plugins: []plugin{on(plugins.RunStart, sleeps)}}, after, nil},
		{"in BeforeInference", stage{model: says(first), plugins: []plugin{on(plugins.BeforeInference, sleeps)}}, after, nil},
		{"in AfterInference", stage{model: says(first), plugins: []plugin{on(plugins.AfterInference, sleeps)}}, after,
			[]string{"c! [Tool execution was interrupted]", "d! [Tool execution was interrupted]"}},
		{"in BeforeToolExecute", stage{model: says(first), tools: map[string]tools.Tool{"x": answers("ok")}, plugins: []plugin{on(plugins.BeforeToolExecute, sleeps)}}, after,
			[]string{"c! [Tool execution was interrupted]", "d! [Tool execution was interrupted]"}},
		{"in AfterToolExecute", stage{model: says(first), tools: map[string]tools.Tool{"x": answers("ok")}, plugins: []plugin{on(plugins.AfterToolExecute, sleeps)}}, after,
			[]string{"c ok", "d ok"}},
		{"in StepEnd", stage{model: says(first), tools: map[string]tools.Tool{"x": answers("ok")}, plugins: []plugin{on(plugins.StepEnd, sleeps)}}, after,
			[]string{"c ok", "d ok"}},
	} {
		play := func(t *testing.T, ctx context.Context, cause error) scene {
			ran := false
			tt.stage.model.requests = nil
			s := tt.stage
			s.plugins = append(s.plugins[:len(s.plugins):len(s.plugins)], on(plugins.RunEnd, func(ctx context.Context, _ *plugins.PhaseContext) error {
				ran = ctx.Err() == nil
				return ctx.Err()
			}))
			begun := time.Now()
			got := s.playIn(ctx, t)
			got.checkWhole(t)
			defer outlast()
			if took := time.Since(begun); took != tt.took {
				t.Errorf("the turn ended after %s, want %s", took, tt.took)
			}
			if !ran {
				t.Error("RunEnd did not run, or under the context that had ended")
			}
			if !errors.Is(got.err, cause) {
				t.Errorf("the error is %v, want %v", got.err, cause)
			}
			return got
		}
		t.Run(tt.name+"/cancel", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				why := errors.New("the user left")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(after, func() { cancel(why) })
				got := play(t, ctx, why)
				want := event.Termination{Type: event.Canceled, Detail: "context canceled: the user left"}
				if diff := cmp.Diff(want, got.Termination); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(tt.results, got.results()); diff != "" {
					t.Error(diff)
				}
			})
		})
		t.Run(tt.name+"/deadline", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				got := play(t, ctx, context.DeadlineExceeded)
				if got.Termination.Type != event.Failed || got.Termination.Code != "timeout" {
					t.Errorf("the turn ended by %+v", got.Termination)
				}
			})
		})
	}
}

func TestATurnThatIsGivenUpBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := stage{model: says(text("done"))}
	got := s.playIn(ctx, t)
	got.ends(t, event.Canceled, "")
	if got.Termination.Detail != "" || len(got.events) != 0 || len(s.model.requests) != 0 {
		t.Errorf("it ended by %+v after %d events and %d requests", got.Termination, len(got.events), len(s.model.requests))
	}
}

func TestATextThatWasFinishedBeforeTheTurnWasGivenUpCounts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := stage{
		model: says(text("done")),
		plugins: []plugin{on(plugins.StepEnd, func(context.Context, *plugins.PhaseContext) error {
			cancel()
			return nil
		})},
	}.playIn(ctx, t)
	got.ends(t, event.NaturalEnd, "")
	if !strings.Contains(got.Response, "done") {
		t.Errorf("the turn came to %q", got.Response)
	}
}
