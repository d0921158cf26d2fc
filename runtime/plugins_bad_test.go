package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	stdruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// places are all places of a turn in which a plugin's code runs, each made to
// run a function.
func places() map[string]func(do func()) turntest.Plugin {
	all := map[string]func(do func()) turntest.Plugin{
		"gate": func(do func()) turntest.Plugin {
			return func(r *plugins.Registrar) {
				r.ToolGate(plugins.GateFunc(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
					do()
					return plugins.Decision{}, nil
				}))
			}
		},
		"batch gate": func(do func()) turntest.Plugin {
			return func(r *plugins.Registrar) {
				r.BatchGate(func(context.Context, *plugins.PhaseContext, []*model.ToolCall) (plugins.BatchDecision, error) {
					do()
					return plugins.BatchDecision{}, nil
				})
			}
		},
		"transform": func(do func()) turntest.Plugin {
			return func(r *plugins.Registrar) {
				r.RequestTransform(func(messages []model.Message, _ []model.Tool) []model.Message {
					do()
					return messages
				})
			}
		},
		"action": func(do func()) turntest.Plugin {
			return func(r *plugins.Registrar) {
				plugins.HandleAction(r, "test.act", plugins.StepStart, func(context.Context, *plugins.PhaseContext, any) error { do(); return nil })
				r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error { p.Schedule("test.act", 1); return nil })
			}
		},
		"effect": func(do func()) turntest.Plugin {
			return func(r *plugins.Registrar) {
				plugins.HandleEffect(r, "test.affect", func(context.Context, any) error { do(); return nil })
				r.Hook(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error { p.Effect("test.affect", 1); return nil })
			}
		},
	}
	for _, phase := range plugins.Phases() {
		if phase == plugins.ToolGate {
			continue
		}
		all[phase.String()] = func(do func()) turntest.Plugin {
			return func(r *plugins.Registrar) {
				r.Hook(phase, func(context.Context, *plugins.PhaseContext) error { do(); return nil })
			}
		}
	}
	return all
}

// working returns a runtime whose agent calls a tool and then answers.
func working(t *testing.T, p turntest.Plugin) *runtime.AgentRuntime {
	t.Helper()
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "risky", "{}"), {Text: "done"}}})
	return turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk", PluginIDs: []string{"bad"}}).WithTool("risky", turntest.Risky).WithPlugin("bad", p))
}

func TestAPluginThatBlocksForEverEndsItsTurnWhereverItIs(t *testing.T) {
	for where, put := range places() {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				rt := working(t, put(func() { <-release }))
				var log turntest.Events
				begun := time.Now()
				got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), &log)
				_, abandoned := errors.AsType[*runtime.AbandonedError](err)
				_, late := errors.AsType[*backend.HookTimeoutError](err)
				if !abandoned || !late || got.Status != event.StatusFailed || got.Termination.Code != backend.CodePlugin {
					t.Errorf("the turn ended by %+v, %v", got.Termination, err)
				}
				if took := time.Since(begun); took != 70*time.Second+time.Minute/32 {
					t.Errorf("it took %s", took)
				}
				close(release)
				synctest.Wait()
				checkEnds(t, log.List)
				turntest.CheckMessages(t, got.Messages)
			})
		})
	}
}

// checkEnds fails the test unless exactly the last event ends the turn, and the
// events are numbered without gaps.
func checkEnds(t turntest.Tester, list []event.Event) {
	t.Helper()
	for i := range list {
		if list[i].Terminal() != (i == len(list)-1) || list[i].Seq != uint64(i+1) {
			t.Errorf("event %d of %d is number %d, %s", i+1, len(list), list[i].Seq, list[i].Data.Type())
		}
	}
}

func TestAPluginThatPanicsOrExitsEndsItsTurnOnce(t *testing.T) {
	for where, put := range places() {
		for how, do := range map[string]func(){
			"panics":                func() { panic("oops") },
			"panics with an error":  func() { panic(errors.New("oops")) },
			"panics with nothing":   func() { panic(nil) },
			"panics with a pointer": func() { _ = *(*int)(nil) },
			"exits":                 stdruntime.Goexit,
		} {
			t.Run(where+"/"+how, func(t *testing.T) {
				rt := working(t, put(do))
				var log turntest.Events
				got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), &log)
				checkEnds(t, log.List)
				if how == "exits" {
					if got.Status != event.StatusFailed || err == nil {
						t.Errorf("it ended by %+v, %v", got.Termination, err)
					}
					return
				}
				turntest.CheckLog(t, log.List)
				turntest.CheckMessages(t, got.Messages)
				survives := where == "gate" || where == "action" || where == "effect" || where == "Deactivate"
				if survives != (got.Status == event.StatusSucceeded) || !survives && got.Termination.Code != backend.CodePlugin {
					t.Errorf("it ended by %+v, %v", got.Termination, err)
				}
			})
		}
	}
}

// undeclared is a key that no plugin declares; shapeless has values without a
// JSON form.
var (
	undeclared = plugins.NewKey[int]("test.undeclared", plugins.ScopeRun)
	shapeless  = plugins.NewKey[any]("test.shapeless", plugins.ScopeSession)
)

func TestWhatAHookMayGetWrongEndsTheTurnOnce(t *testing.T) {
	twice := func(key string, times int) func(p *plugins.PhaseContext) {
		return func(p *plugins.PhaseContext) {
			for range times {
				p.Schedule(key, 1)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		do     func(p *plugins.PhaseContext)
		reason event.Reason
		detail string
	}{
		{"an undeclared key", func(p *plugins.PhaseContext) { undeclared.Set(p, 1) }, event.Failed, "was never declared"},
		{"a function as a value", func(p *plugins.PhaseContext) { shapeless.Set(p, func() {}) }, event.Failed, "test.shapeless"},
		{"a value that panics", func(p *plugins.PhaseContext) { shapeless.Set(p, panics{}) }, event.Failed, "panic"},
		{"a ring as a value", func(p *plugins.PhaseContext) {
			ring := map[string]any{}
			ring["self"] = ring
			shapeless.Set(p, ring)
		}, event.Failed, "test.shapeless"},
		{"an unknown action", twice("test.unknown", 1), event.Failed, "no plugin handles the action"},
		{"an unknown effect", func(p *plugins.PhaseContext) { p.Effect("test.unknown", nil) }, event.Failed, "no plugin handles the effect"},
		{"an action that never stops", twice("test.again", 1), event.Failed, "keep scheduling actions"},
		{"a handoff to nobody", func(p *plugins.PhaseContext) { p.Handoff("nobody") }, event.Blocked, "nobody"},
		{"a handoff to nothing", func(p *plugins.PhaseContext) { p.Handoff("") }, event.NaturalEnd, ""},
		{"a handoff to itself", func(p *plugins.PhaseContext) { p.Handoff("clerk") }, event.NaturalEnd, ""},
		{"a stop for nothing", func(p *plugins.PhaseContext) { p.Stop(event.Termination{}) }, event.NaturalEnd, ""},
		{"the runtime's own events", func(p *plugins.PhaseContext) { p.Emit(&event.RunFinish{}); p.Emit(&event.RunStart{}); p.Emit(nil) }, event.NaturalEnd, ""},
	} {
		for _, phase := range []plugins.Phase{plugins.RunStart, plugins.StepStart, plugins.BeforeInference, plugins.BeforeToolExecute} {
			t.Run(tt.name+"/"+phase.String(), func(t *testing.T) {
				rt := working(t, turntest.Plugin(func(r *plugins.Registrar) {
					r.StateKey(shapeless)
					r.Hook(phase, func(_ context.Context, p *plugins.PhaseContext) error { tt.do(p); return nil })
					plugins.HandleAction(r, "test.again", phase, func(_ context.Context, p *plugins.PhaseContext, _ any) error {
						p.Schedule("test.again", 1)
						return nil
					})
				}))
				var log turntest.Events
				got, _ := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), &log)
				turntest.CheckLog(t, log.List)
				turntest.CheckMessages(t, got.Messages)
				if got.Termination.Type != tt.reason || !strings.Contains(got.Termination.Detail, tt.detail) {
					t.Errorf("it ended by %+v, want %s %q", got.Termination, tt.reason, tt.detail)
				}
			})
		}
	}
}

// panics is a value whose JSON form panics.
type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no form") }

func TestAStopInAnyPhaseEndsTheTurnOnce(t *testing.T) {
	for _, phase := range plugins.Phases() {
		if phase == plugins.ToolGate {
			continue // gates cannot stop a turn, except by their decision
		}
		t.Run(phase.String(), func(t *testing.T) {
			rt := working(t, turntest.Plugin(func(r *plugins.Registrar) {
				r.Hook(phase, func(_ context.Context, p *plugins.PhaseContext) error {
					p.Stop(event.Termination{Type: event.BehaviorRequested, Code: "enough"})
					return nil
				})
			}))
			var log turntest.Events
			got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), &log)
			turntest.CheckLog(t, log.List)
			turntest.CheckMessages(t, got.Messages)
			want := event.BehaviorRequested
			if phase == plugins.RunEnd || phase == plugins.Deactivate {
				want = event.NaturalEnd // too late
			}
			if err != nil || got.Termination.Type != want {
				t.Errorf("it ended by %+v, %v", got.Termination, err)
			}
		})
	}
}

func TestABatchGateMayAnswerForCallsThatNobodyMade(t *testing.T) {
	rt := working(t, turntest.Plugin(func(r *plugins.Registrar) {
		r.BatchGate(func(context.Context, *plugins.PhaseContext, []*model.ToolCall) (plugins.BatchDecision, error) {
			return plugins.BatchDecision{
				Results: map[string]tools.Result{"": tools.TextResult("a"), "nobody": {Wait: &tools.Wait{}}, "c": {Wait: &tools.Wait{}, Data: json.RawMessage(`1`)}},
				Events:  []event.Data{nil, &event.RunFinish{}},
			}, nil
		})
	}))
	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), &log)
	turntest.CheckLog(t, log.List)
	turntest.CheckMessages(t, got.Messages)
	if done := log.Done(); err != nil || len(done) != 1 || done[0] != "c failed 1" {
		t.Errorf("the calls came to %q, %v", done, err)
	}
}
