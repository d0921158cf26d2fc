package turntest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Cautious is a plugin that makes calls of the tool "risky" wait for a Yes.
var Cautious = Plugin(func(r *plugins.Registrar) {
	r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
		if p.Call.Name != "risky" || p.InteractionAnswer != nil {
			return plugins.Decision{}, nil
		}
		return plugins.Decision{Kind: plugins.Suspend, Interaction: &interaction.Request{
			ID: "may_" + p.Call.ID, Message: "may I?", ResponseSchema: json.RawMessage(`{"type":"boolean"}`),
		}}, nil
	}))
})

// Risky is a tool that succeeds.
var Risky = ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("done it"), nil })

// Yes is the answer that Cautious waits for.
func Yes(target string) interaction.Answer {
	return interaction.Answer{Target: target, Action: interaction.Resume, Result: json.RawMessage(`true`)}
}

// Asking returns a runtime whose agent clerk makes two Risky calls at once.
func Asking(t *testing.T) *runtime.AgentRuntime {
	t.Helper()
	first := Calls("a", "risky", "{}")
	first.Calls = append(first.Calls, Calls("b", "risky", "{}").Calls...)
	exec := Scripts(map[string][]Answer{"clerk": {first, {Text: "all done"}}})
	return Build(t, WithAgents(exec, spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}}).
		WithTool("risky", Risky).WithPlugin("cautious", Cautious))
}

// AtTask is the state of a turn that is at the peer.
func AtTask(task string) *backend.State {
	return &backend.State{Version: backend.StateVersion, Agent: "far", Remote: &backend.CallState{Resume: json.RawMessage(task)}}
}

// AsksAt is the state of a turn for which the peer asks a question.
func AsksAt(task string) *backend.State {
	s := AtTask(task)
	s.Remote.Outcome = event.CallSuspended
	s.Remote.Interactions = []*backend.Interaction{{Request: interaction.Request{ID: "q", Action: "peer:input", Message: "which one?"}}}
	return s
}
