package runsclient_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

func TestALoopIsBroken(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		spec := ask("loop", "Go.", weather("sunny", nil))
		spec.LoopDetection = object{"consecutiveThreshold": 3, "hardCutoffThreshold": 4}
		events := succeeds(t, c, spec, "I give up.")
		expect(t, events, "loop_detected",
			object{"consecutiveCount": 3.0, "hardCutoff": false, "tools": []any{"weather"}},
			object{"consecutiveCount": 4.0, "hardCutoff": true, "tools": []any{"weather"}})
		expect(t, events, "local_tool_call", object{"toolUseId": "c1"}, object{"toolUseId": "c2"})
		expect(t, events, "tool_result", object{"toolUseId": "c3"}, object{"toolUseId": "c4"})
		if got := types(events[len(events)-9:]); got != "assistant_message tool_result loop_detected assistant_message tool_result loop_detected assistant_delta assistant_message result" {
			t.Errorf("the events end with %s", got)
		}
		expect(t, events, "result", object{"turns": 5.0})
	})
}

func TestLoopDetectionCanBeOff(t *testing.T) {
	t.Parallel()
	spec := ask("loop", "Go.", weather("sunny", nil))
	spec.LoopDetection = false
	events := succeeds(t, serve(t).client(runsclient.Go), spec, "I give up.")
	expect(t, events, "loop_detected")
	expect(t, events, "local_tool_call", object{}, object{}, object{}, object{})
}

func TestABudgetIsKept(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		spec := ask("budget", "Go.", weather("sunny", nil))
		spec.ToolBudgets = map[string]runsclient.Budget{"weather": {MaxCalls: 1}}
		events := succeeds(t, c, spec, "Enough.")
		expect(t, events, "local_tool_call", object{"toolUseId": "c1"})
		expect(t, events, "tool_result", object{"toolUseId": "c2", "ok": false})
		expect(t, events, "tool_budget_exceeded", object{"tool": "weather", "maxCalls": 1.0, "callIndex": 2.0})
		spec.ToolBudgets = map[string]runsclient.Budget{"weather": {}}
		events = succeeds(t, c, spec, "Enough.")
		expect(t, events, "local_tool_call")
		expect(t, events, "tool_budget_exceeded", object{"maxCalls": 0.0, "callIndex": 1.0}, object{"maxCalls": 0.0, "callIndex": 2.0})
	})
}
