package execution_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/google/go-cmp/cmp"
)

var count = plugins.NewKey[int]("test.count", plugins.ScopeRun)

// sets returns a hook that sets the count.
func sets(n int) plugins.Hook {
	return func(_ context.Context, p *plugins.PhaseContext) error { count.Set(p, n); return nil }
}

func fails(context.Context, *plugins.PhaseContext) error { return errors.New("broken") }

func TestAHookSeesWhatTheOneBeforeItLeft(t *testing.T) {
	var seen []int
	adds := func(_ context.Context, p *plugins.PhaseContext) error {
		seen = append(seen, count.Get(p))
		count.Set(p, count.Get(p)+1)
		return nil
	}
	e := engine(t, func(r *plugins.Registrar) {
		r.StateKey(count)
		r.Hook(plugins.StepStart, adds)
		r.Hook(plugins.StepStart, adds)
		r.Hook(plugins.StepEnd, adds)
	})
	run(t, e, plugins.StepStart)
	run(t, e, plugins.StepEnd)
	if diff := cmp.Diff([]int{0, 1, 2}, seen); diff != "" {
		t.Error(diff)
	}
	if got := e.Snapshot(); string(got["test.count"]) != "3" {
		t.Errorf("the state is %s", got)
	}
	if got := e.Snapshot(); got != nil {
		t.Errorf("nothing changed, but the state is shown: %s", got)
	}
}

func TestAnInterfaceInTheStateMayBeNil(t *testing.T) {
	key := plugins.NewKey[error]("test.error", plugins.ScopeRun)
	e := engine(t, func(r *plugins.Registrar) {
		r.StateKey(key)
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
			key.Set(p, nil)
			return key.Get(p)
		})
	})
	run(t, e, plugins.StepStart)
}

func TestAGateKnowsTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now time.Time
		e := engine(t, func(r *plugins.Registrar) {
			r.Hook(plugins.StepStart, func(context.Context, *plugins.PhaseContext) error { return nil })
			r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
				now = p.Now
				return plugins.Decision{}, nil
			}))
		})
		run(t, e, plugins.StepStart)
		time.Sleep(time.Hour)
		e.Gate(t.Context())
		if !now.Equal(time.Now()) {
			t.Errorf("the gate believes it is %s", now)
		}
	})
}

func TestNothingOfAPhaseThatFailsIsKept(t *testing.T) {
	handled := false
	schedules := func(_ context.Context, p *plugins.PhaseContext) error {
		count.Set(p, 7)
		p.Schedule("act", nil)
		p.Schedule("later", nil)
		p.Effect("affect", nil)
		p.Stop(event.Termination{Type: event.BehaviorRequested})
		return nil
	}
	loops := func(_ context.Context, p *plugins.PhaseContext, _ any) error {
		count.Set(p, 8)
		p.Schedule("loop", nil)
		p.Schedule("later", nil)
		return nil
	}
	notes := func(context.Context, *plugins.PhaseContext, any) error { handled = true; return nil }
	undeclared := plugins.NewKey[int]("test.undeclared", plugins.ScopeRun)
	for name, bad := range map[string]plugins.Hook{
		"error": fails,
		"panic": func(context.Context, *plugins.PhaseContext) error { panic("broken") },
		"an undeclared key": func(_ context.Context, p *plugins.PhaseContext) error {
			undeclared.Set(p, 1)
			return nil
		},
		"an action nobody handles": func(_ context.Context, p *plugins.PhaseContext) error {
			p.Schedule("nobody", nil)
			return nil
		},
		"an effect nobody handles": func(_ context.Context, p *plugins.PhaseContext) error {
			p.Effect("nobody", nil)
			return nil
		},
		"actions without end": func(_ context.Context, p *plugins.PhaseContext) error {
			p.Schedule("loop", nil)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			handled = false
			e := engine(t, func(r *plugins.Registrar) {
				r.StateKey(count)
				r.Hook(plugins.StepStart, schedules)
				r.Hook(plugins.StepStart, bad)
				r.ActionHandler("act", plugins.StepEnd, notes)
				r.ActionHandler("later", plugins.RunEnd, notes)
				r.ActionHandler("loop", plugins.StepStart, loops)
				r.EffectHandler("affect", func(context.Context, any) error { handled = true; return nil })
			})
			err := e.Run(t.Context(), plugins.StepStart)
			stop := e.StopRequest()
			failure, ok := errors.AsType[*execution.HookError](err)
			if stop != nil || !ok || failure.Plugin != "p0" || failure.Phase != plugins.StepStart {
				t.Errorf("the phase came to %v, %v", stop, err)
			}
			run(t, e, plugins.StepEnd)
			run(t, e, plugins.RunEnd)
			if handled || e.Snapshot() != nil {
				t.Errorf("handled is %t, the state %s", handled, e.Snapshot())
			}
		})
	}
}

func TestActionsRunInThePhaseOfTheirHandler(t *testing.T) {
	var log []string
	notes := func(_ context.Context, p *plugins.PhaseContext, payload any) error {
		log = append(log, fmt.Sprint(p.Phase, " ", payload, " ", count.Get(p)))
		return nil
	}
	e := engine(t, func(r *plugins.Registrar) {
		r.StateKey(count)
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Schedule("later", "a")
			p.Schedule("now", "b")
			count.Set(p, 1)
			return nil
		})
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Schedule("now", "c")
			return nil
		})
		r.ActionHandler("now", plugins.StepStart, notes)
		r.ActionHandler("later", plugins.BeforeInference, notes)
	})
	run(t, e, plugins.StepStart)
	run(t, e, plugins.BeforeInference)
	run(t, e, plugins.BeforeInference)
	if diff := cmp.Diff([]string{"StepStart b 1", "StepStart c 1", "BeforeInference a 1"}, log); diff != "" {
		t.Error(diff)
	}
}

func TestActionsMayScheduleActionsSixteenTimes(t *testing.T) {
	for rounds, ok := range map[int]bool{1: true, 16: true, 17: false} {
		ran := 0
		e := engine(t, func(r *plugins.Registrar) {
			r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
				p.Schedule("again", 1)
				return nil
			})
			r.ActionHandler("again", plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext, payload any) error {
				ran++
				if n, _ := payload.(int); n < rounds {
					p.Schedule("again", n+1)
				}
				return nil
			})
		})
		err := e.Run(t.Context(), plugins.StepStart)
		if ok != (err == nil) || !ok && !errors.Is(err, execution.ErrActionLoop) {
			t.Errorf("%d rounds: the error is %v", rounds, err)
		}
		if want := min(rounds, 16); ran != want {
			t.Errorf("%d rounds: the action ran %d times, want %d", rounds, ran, want)
		}
	}
}

func TestAnActionThatFailsIsADeadLetterAndLeavesNothing(t *testing.T) {
	broken := errors.New("broken")
	for name, handler := range map[string]plugins.ActionHandler{
		"error": func(context.Context, *plugins.PhaseContext, any) error { return broken },
		"panic": func(context.Context, *plugins.PhaseContext, any) error { panic(broken) },
		"an action nobody handles": func(_ context.Context, p *plugins.PhaseContext, _ any) error {
			p.Schedule("nobody", nil)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ran := false
			e := engine(t, func(r *plugins.Registrar) {
				r.StateKey(count)
				r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
					count.Set(p, 1)
					p.Schedule("bad", "payload")
					p.Schedule("good", nil)
					return nil
				})
				r.ActionHandler("bad", plugins.StepStart, func(ctx context.Context, p *plugins.PhaseContext, payload any) error {
					count.Set(p, 99)
					p.Stop(event.Termination{Type: event.BehaviorRequested})
					p.Schedule("good", nil)
					p.Request().Exclude = []string{"tool"}
					return handler(ctx, p, payload)
				})
				r.ActionHandler("good", plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext, _ any) error {
					if ran {
						t.Error("an action of the failed handler ran")
					}
					ran = true
					count.Set(p, count.Get(p)+1)
					return nil
				})
			})
			err := e.Run(t.Context(), plugins.StepStart)
			stop := e.StopRequest()
			if stop != nil || err != nil {
				t.Errorf("the phase came to %v, %v", stop, err)
			}
			if got := string(e.Snapshot()["test.count"]); got != "2" {
				t.Errorf("the count is %s, want 2", got)
			}
			if plan := e.TakeRequest(); plan != nil {
				t.Errorf("the request plan is %+v", plan)
			}
			letters := e.DeadLetters()
			if len(letters) != 1 || letters[0].Action != (execution.Action{Key: "bad", Payload: "payload"}) || letters[0].Err == nil {
				t.Errorf("the dead letters are %v", letters)
			}
		})
	}
}

func TestAnActionThatFailsLeavesThePlanAsItWas(t *testing.T) {
	e := engine(t, func(r *plugins.Registrar) {
		r.Hook(plugins.BeforeInference, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Request().Include = []string{"named"} // which has no effect yet
			p.Schedule("bad", nil)
			p.Schedule("restrict", nil)
			return nil
		})
		r.ActionHandler("bad", plugins.BeforeInference, func(_ context.Context, p *plugins.PhaseContext, _ any) error {
			p.Request().Include = []string{"other"}
			return errors.New("it failed")
		})
		r.ActionHandler("restrict", plugins.BeforeInference, func(_ context.Context, p *plugins.PhaseContext, _ any) error {
			p.Request().Restrict = true
			return nil
		})
	})
	if err := e.Run(t.Context(), plugins.BeforeInference); err != nil {
		t.Fatal(err)
	}
	if plan := e.TakeRequest(); !plan.Offers("named") || plan.Offers("other") || len(e.DeadLetters()) != 1 {
		t.Errorf("the plan is %+v, the dead letters are %v", plan, e.DeadLetters())
	}
}

func TestEffectsFollowTheCommitInOrder(t *testing.T) {
	var e *execution.Engine
	var log []string
	e = engine(t, func(r *plugins.Registrar) {
		r.StateKey(count)
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Effect("tell", "first")
			p.Effect("boom", nil)
			p.Schedule("act", nil)
			return sets(5)(nil, p)
		})
		r.ActionHandler("act", plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext, _ any) error {
			p.Effect("tell", "second")
			p.Effect("fail", nil)
			return nil
		})
		r.EffectHandler("tell", func(_ context.Context, payload any) error {
			log = append(log, fmt.Sprintf("%v %d", payload, count.Get(&e.Context)))
			return nil
		})
		r.EffectHandler("boom", func(context.Context, any) error { panic("oops") })
		r.EffectHandler("fail", func(context.Context, any) error { return errors.New("no") })
	})
	run(t, e, plugins.StepStart)
	if diff := cmp.Diff([]string{"first 5", "second 5"}, log); diff != "" {
		t.Error(diff)
	}
	var failed []string
	for _, l := range e.DeadLetters() {
		failed = append(failed, fmt.Sprintf("%s %s: %v", l.Plugin, l.Action.Key, l.Err))
	}
	if diff := cmp.Diff([]string{"p0 boom: panic: oops", "p0 fail: no"}, failed); diff != "" {
		t.Error(diff)
	}
}

func TestAGateSeesTheStateButCannotWriteIt(t *testing.T) {
	e := engine(t, func(r *plugins.Registrar) {
		r.StateKey(count)
		r.Hook(plugins.StepStart, sets(3))
		r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
			count.Set(p, 99)
			p.Schedule("nobody", nil)
			return plugins.Decision{Kind: plugins.Block, Reason: fmt.Sprint(p.Phase, " ", p.Call.Name)}, nil
		}))
		r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
			if n := count.Get(p); n != 3 {
				t.Errorf("the gate sees %d", n)
			}
			return plugins.Decision{}, nil
		}))
	})
	run(t, e, plugins.StepStart)
	e.Context.Call = &model.ToolCall{Name: "x"}
	want := plugins.Decision{Kind: plugins.Block, Reason: "ToolGate x", Plugin: "p0"}
	if diff := cmp.Diff(want, e.Gate(t.Context())); diff != "" {
		t.Error(diff)
	}
	run(t, e, plugins.StepEnd)
	if got := string(e.Snapshot()["test.count"]); got != "3" {
		t.Errorf("the count is %s", got)
	}
}

func TestTheFirstEndAskedForCounts(t *testing.T) {
	asks := func(code string) plugins.Hook {
		return func(_ context.Context, p *plugins.PhaseContext) error {
			p.Stop(event.Termination{Type: event.BehaviorRequested, Code: code})
			return nil
		}
	}
	e := engine(t, func(r *plugins.Registrar) {
		r.Hook(plugins.StepStart, asks("first"))
		r.Hook(plugins.StepStart, asks("second"))
	})
	err := e.Run(t.Context(), plugins.StepStart)
	stop := e.StopRequest()
	if err != nil || stop == nil || stop.Code != "first" {
		t.Errorf("the phase came to %v, %v", stop, err)
	}
}

func TestActionsThatScheduleSeveralAreBounded(t *testing.T) {
	carried := 0
	multiplies := plugin(func(r *plugins.Registrar) {
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error { p.Schedule("more", nil); return nil })
		r.ActionHandler("more", plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext, _ any) error {
			carried++
			for range 10 {
				p.Schedule("more", nil)
			}
			return nil
		})
	})
	e := engine(t, multiplies)
	if err := e.Run(t.Context(), plugins.StepStart); !errors.Is(err, execution.ErrActionLoop) {
		t.Errorf("the phase ended with %v", err)
	}
	if carried > 4096 {
		t.Errorf("%d actions were carried out", carried)
	}
}
