package execution_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
)

// above is a gate of a delegating agent.
type above plugins.GateFunc

func (a above) Ceiling(ctx context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	return a(ctx, p)
}

func TestAGateThatFailsBlocksTheCall(t *testing.T) {
	t.Parallel()
	for want, gate := range map[string]plugins.GateFunc{
		"could not decide: broken": func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
			return plugins.Decision{}, errors.New("broken")
		},
		"could not decide: panic: oops": func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) { panic("oops") },
		"could not decide: it decides the unknown kind 9": func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
			return plugins.Decision{Kind: 9}, nil
		},
	} {
		own := engine(t, func(r *plugins.Registrar) { r.ToolGate(gate) })
		env, _ := execution.Build(nil, nil, nil)
		for owner, e := range map[string]*execution.Engine{
			"p0": own, "of a delegating agent": execution.NewEngine(env, []plugins.CeilingGate{above(gate)}),
		} {
			e.Context.Call = &model.ToolCall{ID: "c", Name: "t"}
			if d := e.Gate(t.Context()); d.Kind != plugins.Block || d.Reason != "plugin "+owner+" "+want || d.Plugin != owner {
				t.Errorf("the decision is %+v", d)
			}
		}
	}
}
