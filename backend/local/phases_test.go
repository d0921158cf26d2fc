package local_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

// watches returns a plugin that logs every phase it is called in.
func watches(log *[]string) plugin {
	return func(r *plugins.Registrar) {
		for _, phase := range plugins.Phases() {
			if phase == plugins.ToolGate {
				continue
			}
			r.Hook(phase, func(_ context.Context, p *plugins.PhaseContext) error {
				*log = append(*log, p.Phase.String())
				return nil
			})
		}
	}
}

func TestPhasesOfATurnWithATool(t *testing.T) {
	var log []string
	got := stage{
		model:   says(asks("", call("look")), text("done")),
		tools:   map[string]tools.Tool{"look": answers("seen")},
		plugins: []plugin{watches(&log)},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	want := []string{
		"Activate", "RunStart",
		"StepStart", "BeforeInference", "AfterInference", "BeforeToolExecute", "AfterToolExecute", "StepEnd",
		"StepStart", "BeforeInference", "AfterInference", "StepEnd",
		"RunEnd", "Deactivate",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}

func TestPhasesOfATurnThatSuspends(t *testing.T) {
	var log []string
	got := stage{
		model:   says(asks("", call("look"))),
		tools:   map[string]tools.Tool{"look": answers("seen")},
		plugins: []plugin{watches(&log), decides(plugins.Decision{Kind: plugins.Suspend, Reason: "approval"})},
	}.play(t)
	got.ends(t, event.Suspended, "")
	want := []string{"Activate", "RunStart", "StepStart", "BeforeInference", "AfterInference", "StepEnd", "Deactivate"}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}

func TestEventsOfATurnWithATool(t *testing.T) {
	steps := plugins.NewKey[int]("test.steps", plugins.ScopeRun)
	counts := plugin(func(r *plugins.Registrar) {
		r.StateKey(steps)
		r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
			steps.Set(p, steps.Get(p)+1)
			return nil
		})
	})
	got := stage{
		model:   says(asks("let me look", call("look")), text("done")),
		tools:   map[string]tools.Tool{"look": answers("seen")},
		plugins: []plugin{counts},
	}.play(t)
	got.ends(t, event.NaturalEnd, "")
	want := []event.Type{
		event.TypeStepStart, event.TypeTextDelta, event.TypeToolCallStart, event.TypeToolCallDelta,
		event.TypeToolCallReady, event.TypeInferenceComplete, event.TypeToolCallDone, event.TypeStateSnapshot, event.TypeStepEnd,
		event.TypeStepStart, event.TypeTextDelta, event.TypeInferenceComplete, event.TypeStateSnapshot, event.TypeStepEnd,
	}
	if diff := cmp.Diff(want, got.types()); diff != "" {
		t.Error(diff)
	}
	if got.Response != "done" || got.Steps != 2 || got.Usage.Total() != 30 {
		t.Errorf("the turn came to %q in %d steps and %d tokens", got.Response, got.Steps, got.Usage.Total())
	}
}

func TestTheStateIsShownOnlyWhenItChanged(t *testing.T) {
	mood := plugins.NewKey[string]("test.mood", plugins.ScopeSession)
	sets := func(phase plugins.Phase, step int) plugin {
		return func(r *plugins.Registrar) {
			r.StateKey(mood)
			r.Hook(phase, func(_ context.Context, p *plugins.PhaseContext) error {
				if p.Stats.Steps == step {
					mood.Set(p, phase.String())
				}
				return nil
			})
		}
	}
	for _, tt := range []struct {
		name string
		set  plugin
		want []event.Type
	}{
		{"never", sets(plugins.StepStart, 9), []event.Type{
			event.TypeStepStart, event.TypeStepEnd, event.TypeStepStart, event.TypeStepEnd,
		}},
		{"before the first step", sets(plugins.RunStart, 0), []event.Type{
			event.TypeStepStart, event.TypeStateSnapshot, event.TypeStepEnd, event.TypeStepStart, event.TypeStepEnd,
		}},
		{"in the second step", sets(plugins.AfterInference, 2), []event.Type{
			event.TypeStepStart, event.TypeStepEnd, event.TypeStepStart, event.TypeStateSnapshot, event.TypeStepEnd,
		}},
		{"at the end", sets(plugins.RunEnd, 2), []event.Type{
			event.TypeStepStart, event.TypeStepEnd, event.TypeStepStart, event.TypeStepEnd, event.TypeStateSnapshot,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stage{
				model:   says(asks("", call("look")), text("done")),
				tools:   map[string]tools.Tool{"look": answers("seen")},
				plugins: []plugin{tt.set},
			}.play(t)
			got.ends(t, event.NaturalEnd, "")
			var types []event.Type
			for _, typ := range got.types() {
				switch typ {
				case event.TypeStepStart, event.TypeStepEnd, event.TypeStateSnapshot:
					types = append(types, typ)
				}
			}
			if diff := cmp.Diff(tt.want, types); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAHookSees(t *testing.T) {
	var before, after, end string
	sees := plugin(func(r *plugins.Registrar) {
		r.Hook(plugins.BeforeToolExecute, func(_ context.Context, p *plugins.PhaseContext) error {
			before = fmt.Sprintf("%s %s answer=%t result=%t messages=%d", p.TurnID, p.Call.Name, p.Answer != nil, p.Result != nil, len(p.Messages))
			return nil
		})
		r.Hook(plugins.AfterToolExecute, func(_ context.Context, p *plugins.PhaseContext) error {
			after = fmt.Sprintf("%s %q", p.Call.Name, model.PartsText(p.Result.Content))
			return nil
		})
		r.Hook(plugins.StepEnd, func(_ context.Context, p *plugins.PhaseContext) error {
			if p.Call != nil || p.Result != nil {
				t.Error("StepEnd sees a call that is over")
			}
			return nil
		})
		r.Hook(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
			end = fmt.Sprintf("%s answer=%t messages=%d+%d+%d", p.Termination.Type, p.Answer != nil, p.HistoryLength, p.InputLength, len(p.Messages)-p.HistoryLength-p.InputLength)
			return nil
		})
	})
	stage{
		model:   says(asks("", call("look")), text("done")),
		tools:   map[string]tools.Tool{"look": answers("seen")},
		plugins: []plugin{sees},
		history: []model.Message{model.User("hi"), model.Assistant("hello")},
	}.play(t)
	if want := "turn look answer=true result=false messages=4"; before != want {
		t.Errorf("BeforeToolExecute saw %q, want %q", before, want)
	}
	if want := `look "seen"`; after != want {
		t.Errorf("AfterToolExecute saw %q, want %q", after, want)
	}
	if want := "natural_end answer=false messages=2+1+3"; end != want {
		t.Errorf("RunEnd saw %q, want %q", end, want)
	}
}

func TestAHookThatFailsEndsTheTurnWhereverItIs(t *testing.T) {
	for _, phase := range plugins.Phases() {
		if phase == plugins.ToolGate || phase == plugins.Deactivate { // failures of the second are dead letters
			continue
		}
		for what, hook := range map[string]plugins.Hook{
			"error": func(context.Context, *plugins.PhaseContext) error { return errors.New("broken") },
			"panic": func(context.Context, *plugins.PhaseContext) error { panic("broken") },
		} {
			t.Run(phase.String()+"/"+what, func(t *testing.T) {
				ended := 0
				got := stage{
					model: says(asks("a text", call("look"), call("listen")), text("done")),
					tools: map[string]tools.Tool{"look": answers("seen"), "listen": answers("heard")},
					plugins: []plugin{
						on(plugins.RunEnd, func(context.Context, *plugins.PhaseContext) error { ended++; return nil }),
						on(phase, hook),
					},
				}.play(t)
				got.ends(t, event.Failed, backend.CodePlugin)
				failure, ok := errors.AsType[*execution.HookError](got.err)
				if !ok || failure.Plugin != "p1" || failure.Phase != phase {
					t.Errorf("the error is %v", got.err)
				}
				want := 1
				if phase == plugins.Activate {
					want = 0 // RunStart did not run either
				}
				if ended != want {
					t.Errorf("RunEnd ran %d times, want %d", ended, want)
				}
			})
		}
	}
}

func TestAPluginThatFailsAtTheEndKeepsNoOtherFromEnding(t *testing.T) {
	for what, hook := range map[string]plugins.Hook{
		"error": func(context.Context, *plugins.PhaseContext) error { return errors.New("broken") },
		"panic": func(context.Context, *plugins.PhaseContext) error { panic("broken") },
	} {
		t.Run(what, func(t *testing.T) {
			var log []string
			got := stage{model: says(text("done")), plugins: []plugin{on(plugins.Deactivate, hook), watches(&log)}}.play(t)
			got.ends(t, event.NaturalEnd, "")
			if len(got.DeadLetters) != 1 || got.DeadLetters[0].Plugin != "p0" || got.DeadLetters[0].Action.Key != "Deactivate" {
				t.Errorf("the dead letters are %+v", got.DeadLetters)
			}
			if log[len(log)-1] != "Deactivate" {
				t.Errorf("the second plugin saw %v", log)
			}

			log = nil
			got = stage{model: says(text("done")), plugins: []plugin{on(plugins.RunEnd, hook), watches(&log)}}.play(t)
			got.ends(t, event.Failed, backend.CodePlugin)
			if n := len(log); n < 2 || log[n-2] != "RunEnd" {
				t.Errorf("the second plugin saw %v", log)
			}
		})
	}
}

// Step data is not visible after the step, however the step ended.
func TestRunEndSeesNothingOfAStepThatFailed(t *testing.T) {
	for _, phase := range []plugins.Phase{plugins.AfterInference, plugins.BeforeToolExecute, plugins.AfterToolExecute, plugins.StepEnd} {
		t.Run(phase.String(), func(t *testing.T) {
			ran := false
			stage{
				model: says(asks("", call("look"))),
				tools: map[string]tools.Tool{"look": answers("seen")},
				plugins: []plugin{
					on(phase, func(context.Context, *plugins.PhaseContext) error { return errors.New("no") }),
					on(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
						ran = p.Answer == nil && p.Call == nil && p.Result == nil
						return nil
					}),
				},
			}.play(t)
			if !ran {
				t.Error("RunEnd did not run, or sees an answer or call")
			}
		})
	}
}

func TestAHookOfALaterStepThatFailsKeepsWhatWasDone(t *testing.T) {
	got := stage{
		model: says(asks("first", call("look")), text("second")),
		tools: map[string]tools.Tool{"look": answers("seen")},
		plugins: []plugin{on(plugins.StepEnd, func(_ context.Context, p *plugins.PhaseContext) error {
			if p.Stats.Steps == 2 {
				return errors.New("broken")
			}
			return nil
		})},
	}.play(t)
	got.ends(t, event.Failed, backend.CodePlugin)
	if got.Response != "second" || len(got.Messages) != 3 || got.Steps != 2 {
		t.Errorf("the turn keeps %q and %d messages of %d steps", got.Response, len(got.Messages), got.Steps)
	}
}

func TestStopIn(t *testing.T) {
	stop := event.Termination{Type: event.BehaviorRequested, Code: "enough"}
	for _, tt := range []struct {
		phase    plugins.Phase
		steps    int
		messages int
		executed bool
	}{
		{plugins.RunStart, 0, 0, false},
		{plugins.StepStart, 1, 2, false},
		{plugins.BeforeInference, 1, 2, false},
		{plugins.AfterInference, 1, 2, false},
		{plugins.BeforeToolExecute, 1, 2, true},
		{plugins.AfterToolExecute, 1, 2, true},
		{plugins.StepEnd, 1, 2, true},
	} {
		t.Run(tt.phase.String(), func(t *testing.T) {
			executed := false
			got := stage{
				model: says(asks("", call("look")), text("done")),
				tools: map[string]tools.Tool{"look": does(func(context.Context, *tools.Call) (tools.Result, error) {
					executed = true
					return tools.TextResult("seen"), nil
				})},
				plugins: []plugin{on(tt.phase, func(_ context.Context, p *plugins.PhaseContext) error {
					p.Stop(stop)
					p.Stop(event.Termination{Type: event.BehaviorRequested, Code: "too late"})
					return nil
				})},
			}.play(t)
			got.ends(t, event.BehaviorRequested, "enough")
			if got.Steps != tt.steps || len(got.Messages) != tt.messages || executed != tt.executed {
				t.Errorf("%d steps, %d messages, executed %t; want %+v", got.Steps, len(got.Messages), executed, tt)
			}
		})
	}
}
