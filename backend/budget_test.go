package backend_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// exceeded returns the budget that an error names.
func exceeded(err error) string {
	if e, ok := errors.AsType[*backend.BudgetError](err); ok {
		return e.Budget
	}
	return ""
}

func TestWhatADelegateSpendsCountsForEveryTurnAbove(t *testing.T) {
	top := backend.NewMeter(nil, &spec.Budgets{MaxTokens: new(100), MaxToolCalls: new(3)}, backend.Spent{})
	middle := backend.NewMeter(top, nil, backend.Spent{})
	bottom := backend.NewMeter(middle, &spec.Budgets{MaxToolCalls: new(2)}, backend.Spent{})
	bottom.Spend(model.Usage{Input: 60, Output: 41}, 0)
	for name, m := range map[string]*backend.Meter{"top": top, "middle": middle, "bottom": bottom} {
		if got := exceeded(m.Exceeded()); got != backend.BudgetTokens {
			t.Errorf("%s is short of %q, want tokens", name, got)
		}
	}
	for range 2 {
		if err := bottom.BeginToolCall(); err != nil {
			t.Fatal(err)
		}
	}
	if got := exceeded(bottom.BeginToolCall()); got != backend.BudgetToolCalls {
		t.Errorf("the third call of the delegate is refused for %q", got)
	}
	if got := top.Spent().ToolCalls; got != 2 {
		t.Errorf("a refused call counts: %d above", got)
	}
	if err := middle.BeginToolCall(); err != nil {
		t.Errorf("the third call of the turn above is its own: %v", err)
	}
	if got := exceeded(top.BeginToolCall()); got != backend.BudgetToolCalls {
		t.Errorf("the fourth is refused for %q", got)
	}
}

func TestWhatIsLeftIsWhatEveryTurnAboveLeaves(t *testing.T) {
	top := backend.NewMeter(nil, &spec.Budgets{MaxTokens: new(100), MaxToolCalls: new(3)}, backend.Spent{})
	bottom := backend.NewMeter(top, &spec.Budgets{MaxTokens: new(1000), MaxCost: new(2.5), MaxModelCalls: new(7)}, backend.Spent{})
	bottom.Spend(model.Usage{Input: 60, Output: 30}, 1)
	if err := errors.Join(bottom.BeginModelCall(), top.BeginToolCall()); err != nil {
		t.Fatal(err)
	}
	want := &spec.Budgets{MaxTokens: new(10), MaxCost: new(1.5), MaxModelCalls: new(6), MaxToolCalls: new(2)}
	if diff := cmp.Diff(want, bottom.Left()); diff != "" {
		t.Error(diff)
	}
	var none *backend.Meter
	if left := none.Left(); left != nil {
		t.Errorf("nothing limits it, yet %+v is left", left)
	}
}

func TestNoBudgetIsNoLimit(t *testing.T) {
	m := backend.NewMeter(nil, nil, backend.Spent{})
	if m != nil {
		t.Fatalf("there is a meter for nothing: %+v", m)
	}
	m.Spend(model.Usage{Input: 1e9}, 1e9)
	if err := errors.Join(m.BeginModelCall(), m.BeginToolCall(), m.Exceeded(), m.DurationError()); err != nil {
		t.Error(err)
	}
	if _, ok := m.Remaining(); ok {
		t.Error("the time is limited")
	}
}

func TestRestingCostsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := backend.NewMeter(nil, &spec.Budgets{MaxDuration: new(spec.Duration(time.Minute))}, backend.Spent{})
		time.Sleep(20 * time.Second)
		spent := m.Spent()
		time.Sleep(time.Hour) // a person considers it
		m = m.Rest(spent)
		if left, ok := m.Remaining(); !ok || left != 40*time.Second {
			t.Errorf("%s are left, %t", left, ok)
		}
		time.Sleep(40 * time.Second)
		end := backend.TerminationOf(m.DurationError())
		if end.Type != event.BudgetExceeded || end.Code != backend.BudgetDuration {
			t.Errorf("the turn ends by %+v", end)
		}
	})
}

func TestPriceCountsTokensFromTheCacheByTheirOwnPrice(t *testing.T) {
	usage := model.Usage{Input: 3_000_000, CacheRead: 1_000_000, Output: 500_000}
	for _, tt := range []struct {
		pricing *spec.Pricing
		want    float64
	}{
		{nil, 0},
		{&spec.Pricing{InputPerMillion: 2, OutputPerMillion: 10}, 2*2 + 1*2 + 5},
		{&spec.Pricing{InputPerMillion: 2, OutputPerMillion: 10, CachedInputPerMillion: new(0.5)}, 2*2 + 0.5 + 5},
		{&spec.Pricing{InputPerMillion: 2, CachedInputPerMillion: new(0.0)}, 4},
	} {
		if got := backend.Price(tt.pricing, usage); got != tt.want {
			t.Errorf("%+v: %g, want %g", tt.pricing, got, tt.want)
		}
	}
}
