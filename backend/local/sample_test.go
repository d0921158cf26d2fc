package local_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// thinks returns a tool that samples the model the given number of times and keeps the last error.
func thinks(times int, failed *error) tools.Tool {
	return does(func(ctx context.Context, c *tools.Call) (tools.Result, error) {
		var text string
		for range times {
			got, err := c.Host.Sample(ctx, &model.Request{
				Messages: []model.Message{model.User("Capital of France?")}, Tools: []model.Tool{{Name: "x"}}, Params: model.Params{MaxOutputTokens: 500},
			})
			if *failed = err; err != nil {
				return tools.Result{}, err
			}
			text += got.Text
		}
		return tools.TextResult(text), nil
	})
}

func TestAToolAsksTheModelOfItsAgent(t *testing.T) {
	t.Parallel()
	var failed error
	m := says(asks("", call("think")), text("Paris"), text("!"), text("done"))
	out := stage{
		model: m, tools: map[string]tools.Tool{"think": thinks(2, &failed)},
		job: func(j *backend.Job) {
			j.Local.MaxOutput, j.Local.ModelID = 100, "m"
			j.Local.Pricing = map[string]*spec.Pricing{"m": {InputPerMillion: 1e6, OutputPerMillion: 1e6}}
		},
	}.play(t)
	out.ends(t, event.NaturalEnd, "")
	if got := out.results(); len(got) != 1 || got[0] != "think Paris!" {
		t.Errorf("the tool read %q", got)
	}
	if out.Usage != (model.Usage{Input: 40, Output: 20}) || out.Cost == nil || out.Cost.Amount != 60 {
		t.Errorf("the turn counts %+v and %+v", out.Usage, out.Cost)
	}
	if r := m.requests[1]; r.Model != "upstream" || len(r.Tools) != 0 || r.MaxOutputTokens != 100 || len(r.Messages) != 1 {
		t.Errorf("the model was asked %+v", r)
	}
}

func TestAToolAsksTheModelWithinTheBudgets(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		budgets spec.Budgets
		want    string
	}{
		"calls":  {spec.Budgets{MaxModelCalls: new(3)}, backend.BudgetModelCalls},
		"tokens": {spec.Budgets{MaxTokens: new(31)}, backend.BudgetTokens},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failed error
			s := stage{model: says(asks("", call("think")), text("a"), text("b"), text("c"), text("d")), tools: map[string]tools.Tool{"think": thinks(9, &failed)}}
			s.agent.Budgets = &tt.budgets
			out := s.play(t)
			if out.Termination.Type != event.BudgetExceeded || out.Termination.Code != tt.want {
				t.Errorf("the turn ended by %+v", out.Termination)
			}
			if e, ok := errors.AsType[*backend.BudgetError](failed); !ok || e.Budget != tt.want {
				t.Errorf("the tool reads %v", failed)
			}
		})
	}
}

func TestAnErrorOfTheModelReachesTheTool(t *testing.T) {
	t.Parallel()
	var failed error
	out := stage{
		model: says(asks("", call("think")), fails(&model.Error{Class: model.Overloaded, Message: "busy"}), text("done")),
		tools: map[string]tools.Tool{"think": thinks(1, &failed)},
	}.play(t)
	out.ends(t, event.NaturalEnd, "")
	if e, ok := errors.AsType[*model.Error](failed); !ok || e.Class != model.Overloaded {
		t.Errorf("the tool reads %v", failed)
	}
}

func TestAToolMaySayThatItsCallIsInDoubt(t *testing.T) {
	t.Parallel()
	lost := does(func(context.Context, *tools.Call) (tools.Result, error) {
		r := tools.ErrorResult("no answer")
		r.Indeterminate = true
		return r, nil
	})
	s := stage{model: says(asks("", call("pay")), text("done")), tools: map[string]tools.Tool{"pay": lost}}
	out := s.play(t)
	out.ends(t, event.NaturalEnd, "")
	if got := out.done(); len(got) != 1 || got[0] != "pay indeterminate no answer" {
		t.Errorf("the call is %q", got)
	}
	s.model, s.policy = says(asks("", call("pay")), text("done")), backend.IndeterminateAsk
	out = s.play(t)
	out.ends(t, event.Suspended, "")
	if len(out.Interactions) != 1 || out.Interactions[0].Action != backend.ActionIndeterminate {
		t.Errorf("a person is asked %+v", out.Interactions)
	}
}
