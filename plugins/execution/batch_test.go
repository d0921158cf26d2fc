package execution_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func callsOf(ids ...string) []*model.ToolCall {
	var calls []*model.ToolCall
	for _, id := range ids {
		calls = append(calls, &model.ToolCall{ID: id, Name: "t_" + id})
	}
	return calls
}

func TestABatchGateIsShownWhatThoseBeforeItLeft(t *testing.T) {
	t.Parallel()
	var shown [][]string
	answers := func(id, steer string, finalize bool) plugins.BatchGate {
		return func(_ context.Context, p *plugins.PhaseContext, calls []*model.ToolCall) (plugins.BatchDecision, error) {
			var ids []string
			for _, c := range calls {
				ids = append(ids, c.ID)
			}
			shown = append(shown, ids)
			count.Update(p, func(n int) int { return n + len(calls) })
			return plugins.BatchDecision{
				Results: map[string]tools.Result{id: tools.ErrorResult(id)}, Steer: steer, Finalize: finalize,
				Events: []event.Data{&event.ToolBudgetExceeded{ID: id}},
			}, nil
		}
	}
	e := engine(t, func(r *plugins.Registrar) {
		r.StateKey(count)
		r.BatchGate(answers("b", "be brief", false))
		r.BatchGate(answers("a", "", true))
		r.BatchGate(answers("c", "stop", false))
		r.BatchGate(answers("none is left", "", false))
	})
	if !e.JudgesBatches() || engine(t).JudgesBatches() {
		t.Error("an engine does not know whether it has batch gates")
	}
	d, err := e.Batch(t.Context(), callsOf("a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"a", "b", "c"}, {"a", "c"}, {"c"}}, shown); diff != "" {
		t.Error(diff)
	}
	if len(d.Results) != 3 || d.Steer != "be brief\nstop" || !d.Finalize || len(d.Events) != 3 {
		t.Errorf("the decision is %+v", d)
	}
	if got := string(e.Snapshot()["test.count"]); got != "6" {
		t.Errorf("the gates counted %s", got)
	}
}

func TestABatchGateThatFailsFailsTheTurnAndLeavesNothing(t *testing.T) {
	t.Parallel()
	undeclared := plugins.NewKey[int]("test.undeclared", plugins.ScopeRun)
	for name, gate := range map[string]plugins.BatchGate{
		"error": func(context.Context, *plugins.PhaseContext, []*model.ToolCall) (plugins.BatchDecision, error) {
			return plugins.BatchDecision{}, errors.New("broken")
		},
		"panic": func(context.Context, *plugins.PhaseContext, []*model.ToolCall) (plugins.BatchDecision, error) {
			panic("broken")
		},
		"an undeclared key": func(_ context.Context, p *plugins.PhaseContext, _ []*model.ToolCall) (plugins.BatchDecision, error) {
			undeclared.Set(p, 1)
			return plugins.BatchDecision{}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engine(t, func(r *plugins.Registrar) {
				r.StateKey(count)
				r.BatchGate(func(_ context.Context, p *plugins.PhaseContext, _ []*model.ToolCall) (plugins.BatchDecision, error) {
					count.Set(p, 1)
					return plugins.BatchDecision{Finalize: true}, nil
				})
				r.BatchGate(gate)
			})
			d, err := e.Batch(t.Context(), callsOf("a"))
			failure, ok := errors.AsType[*execution.HookError](err)
			if !ok || failure.Plugin != "p0" || d.Finalize || e.Snapshot() != nil {
				t.Errorf("got %+v, %v", d, err)
			}
		})
	}
}
