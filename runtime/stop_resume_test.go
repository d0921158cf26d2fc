package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// TestEachStopConditionCountsOverStopsAndWaits plays a turn whose every step
// stops, waits for an answer and rests for a day, and compares it with one that
// goes through.
func TestEachStopConditionCountsOverStopsAndWaits(t *testing.T) {
	says := func(texts ...string) (script []turntest.Answer) {
		for _, text := range texts {
			a := turntest.Calls("", "risky", "{}")
			a.Text = text
			script = append(script, a)
		}
		return append(script, turntest.Answer{Text: "done"})
	}
	using := func(name string) (script []turntest.Answer) {
		for range 6 {
			script = append(script, turntest.Calls("", name, "{}"))
		}
		return append(script, turntest.Answer{Text: "done"})
	}
	for _, tt := range []struct {
		name   string
		agent  spec.Agent
		script []turntest.Answer
		code   string
		steps  int
	}{
		{"round limit", spec.Agent{MaxRounds: new(3)}, says("a", "b", "c", "d"), "max_rounds", 3},
		{"rounds", spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopMaxRounds, Rounds: 3}}}, says("a", "b", "c", "d"), "max_rounds", 3},
		{"time", spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopTimeout, Timeout: new(spec.Duration(25 * time.Second))}}}, says("a", "b", "c", "d"), "timeout", 4},
		{"time that is enough", spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopTimeout, Timeout: new(spec.Duration(time.Hour))}}}, says("a", "b"), "", 3},
		{"tokens", spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopTokenBudget, MaxTotal: 30}}}, says("a", "b", "c", "d"), "token_budget", 3},
		{"errors", spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopConsecutiveErrors, Max: 3}}}, using("fails"), "consecutive_errors", 3},
		{"a tool", spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopOnTool, ToolName: "fails"}}}, append(says("a", "b")[:2], using("fails")...), "stop_on_tool", 3},
		{"content", spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopContentMatch, Pattern: "^enough"}}}, says("a", "b", "enough", "c"), "content_match", 3},
		{"a loop", spec.Agent{StopConditions: []spec.StopCondition{{Type: spec.StopLoopDetection, Window: 3}}}, says("a", "b", "b", "b", "c"), "loop_detection", 4},
	} {
		for _, pieces := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/pieces %v", tt.name, pieces), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					agent := tt.agent
					agent.ID, agent.PluginIDs = "clerk", []string{"cautious"}
					slow := func(next turntest.ToolFunc) turntest.ToolFunc {
						return func(ctx context.Context, c *tools.Call) (tools.Result, error) {
							time.Sleep(10 * time.Second)
							return next(ctx, c)
						}
					}
					fails := func(context.Context, *tools.Call) (tools.Result, error) { return tools.ErrorResult("bad"), nil }
					rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"clerk": tt.script}), agent).
						WithPlugin("cautious", turntest.Cautious).WithTool("risky", slow(turntest.Risky)).WithTool("fails", slow(fails)))
					got, log := restful(t, rt, pieces)
					reason := event.Stopped
					if tt.code == "" {
						reason = event.NaturalEnd
					}
					if got.Termination.Type != reason || got.Termination.Code != tt.code || got.Steps != tt.steps {
						t.Errorf("it ended by %+v in %d steps, want %s in %d", got.Termination, got.Steps, tt.code, tt.steps)
					}
					checkLife(t, log.List)
					turntest.CheckMessages(t, got.Messages)
				})
			})
		}
	}
}

// restful runs a turn to its end. In pieces it stops at each step, rests for a
// day, and comes back from the JSON of its state; so it does where it waits.
func restful(t *testing.T, rt *runtime.AgentRuntime, pieces bool) (*runtime.Result, *turntest.Events) {
	t.Helper()
	var log turntest.Events
	req := runtime.Prompt("clerk", "go")
	req.TurnID = "turn"
	if pieces {
		req.Checkpoint = func(context.Context, *backend.State) error { return backend.ErrYield }
	}
	for range 40 {
		got, err := rt.Run(t.Context(), req, &log)
		if err != nil && !errors.Is(err, backend.ErrYield) {
			t.Fatal(err)
		}
		if got.State == nil {
			return got, &log
		}
		req.State, req.Answers = got.State, nil
		if pieces {
			req.State = kept(t, got.State)
			time.Sleep(24 * time.Hour)
		}
		for _, request := range got.Interactions {
			req.Answers = append(req.Answers, turntest.Yes(request.ID))
		}
	}
	t.Fatal("the turn does not end")
	return nil, nil
}
