package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

func TestATurnKeepsTheRevisionItBeganWith(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":  {turntest.Calls("c", "dismiss", "{}"), turntest.AsksAgent("clerk"), {Text: "thanks"}},
		"clerk": {{Text: "still here"}},
	})
	var rt *runtime.AgentRuntime
	dismiss := turntest.ToolFunc(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		_, err := rt.Publish(ctx, func(d *registry.Draft) error {
			d.Agents.Remove("clerk")
			boss, _ := d.Agents.Get("boss")
			alone := boss.Clone()
			alone.Delegates = nil
			d.Agents.Put("boss", alone)
			return nil
		})
		return tools.TextResult("dismissed"), err
	})
	rt = turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss", Delegates: []string{"clerk"}}, spec.Agent{ID: "clerk"}).WithTool("dismiss", dismiss))

	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), &log)
	if err != nil {
		t.Fatal(err)
	}
	if done := log.Done(); len(done) != 2 || done[0] != "c succeeded dismissed" || done[1] != "to-clerk succeeded still here" {
		t.Errorf("the calls came to %q", done)
	}
	if got.Revision != 1 || rt.Revision().Number() != 2 {
		t.Errorf("the turn ran in revision %d, and the current one is %d", got.Revision, rt.Revision().Number())
	}
	_, err = rt.Run(t.Context(), runtime.Prompt("clerk", "hello"), nil)
	if _, ok := errors.AsType[*resolve.AgentNotFoundError](err); !ok {
		t.Errorf("the agent that was dismissed gives %v", err)
	}
}

func TestADraftThatDoesNotResolveChangesNothing(t *testing.T) {
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "boss"}))
	_, err := rt.Publish(t.Context(), func(d *registry.Draft) error {
		d.Providers.Remove("fake")
		return nil
	})
	if _, ok := errors.AsType[*registry.InvalidError](err); !ok || rt.Revision().Number() != 1 {
		t.Errorf("the current revision is %d, the error %v", rt.Revision().Number(), err)
	}
	if _, err := rt.Resolve(t.Context(), "boss", resolve.Options{}); err != nil {
		t.Errorf("the agent no longer resolves: %v", err)
	}
}
