package spec_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func TestBudgetsValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		budgets spec.Budgets
		want    []string
	}{
		"nothing set": {spec.Budgets{}, nil},
		"the least": {spec.Budgets{
			MaxTokens: new(1), MaxCost: new(0.0), MaxDuration: new(spec.Duration(1)), MaxModelCalls: new(1), MaxToolCalls: new(0),
		}, nil},
		"the most": {spec.Budgets{
			MaxTokens: new(1_000_000_000), MaxCost: new(1_000_000.0), MaxDuration: new(spec.Duration(math.MaxInt64)),
			MaxModelCalls: new(1_000_000), MaxToolCalls: new(1_000_000),
		}, nil},
		"too little": {spec.Budgets{
			MaxTokens: new(0), MaxCost: new(-0.01), MaxDuration: new(spec.Duration(0)), MaxModelCalls: new(0), MaxToolCalls: new(-1),
		}, []string{
			"invalid-value max_tokens: max_tokens is 0; it must be 1 or more",
			"invalid-value max_model_calls: max_model_calls is 0; it must be 1 or more",
			"invalid-value max_tool_calls: max_tool_calls is -1; it must be 0 or more",
			"invalid-value max_cost: max_cost is -0.01; it must lie between 0 and 1000000",
			"invalid-value max_duration: max_duration is 0s; it must be more than 0",
		}},
		"too much": {spec.Budgets{
			MaxTokens: new(1_000_000_001), MaxCost: new(math.Inf(1)), MaxDuration: new(spec.Duration(-time.Second)),
			MaxModelCalls: new(1_000_001), MaxToolCalls: new(1_000_001),
		}, []string{
			"invalid-value max_tokens: max_tokens is 1000000001; it must be at most 1000000000",
			"invalid-value max_model_calls: max_model_calls is 1000001; it must be at most 1000000",
			"invalid-value max_tool_calls: max_tool_calls is 1000001; it must be at most 1000000",
			"invalid-value max_cost: max_cost is +Inf; it must lie between 0 and 1000000",
			"invalid-value max_duration: max_duration is -1s; it must be more than 0",
		}},
		"no number": {spec.Budgets{MaxCost: new(math.NaN())}, []string{
			"invalid-value max_cost: max_cost is NaN; it must lie between 0 and 1000000",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.budgets.Validate(), tt.want...)
		})
	}
}

func TestLoopDetectionValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings spec.LoopDetection
		want     []string
	}{
		"nothing set": {spec.LoopDetection{}, nil},
		"off":         {spec.LoopDetection{Enabled: new(false)}, nil},
		"the least":   {spec.LoopDetection{ConsecutiveThreshold: new(2), HardCutoffThreshold: new(3)}, nil},
		"the most":    {spec.LoopDetection{ConsecutiveThreshold: new(99), HardCutoffThreshold: new(100)}, nil},
		"too little": {spec.LoopDetection{ConsecutiveThreshold: new(1), HardCutoffThreshold: new(2)}, []string{
			"invalid-value consecutive_threshold: consecutive_threshold is 1; it must lie between 2 and 100",
			"invalid-value hard_cutoff_threshold: hard_cutoff_threshold is 2; it must lie between 3 and 100",
		}},
		"too much": {spec.LoopDetection{ConsecutiveThreshold: new(101), HardCutoffThreshold: new(101)}, []string{
			"invalid-value consecutive_threshold: consecutive_threshold is 101; it must lie between 2 and 100",
			"invalid-value hard_cutoff_threshold: hard_cutoff_threshold is 101; it must lie between 3 and 100",
		}},
		"the wrong order": {spec.LoopDetection{ConsecutiveThreshold: new(5), HardCutoffThreshold: new(5)}, []string{
			"invalid-value hard_cutoff_threshold: hard_cutoff_threshold is 5 and consecutive_threshold 5; the first must be more than the second",
		}},
		"the wrong order, though off": {spec.LoopDetection{Enabled: new(false), ConsecutiveThreshold: new(5), HardCutoffThreshold: new(4)}, []string{
			"invalid-value hard_cutoff_threshold: hard_cutoff_threshold is 4 and consecutive_threshold 5; the first must be more than the second",
		}},
		"the wrong order with the default for calls": {spec.LoopDetection{HardCutoffThreshold: new(3)}, []string{
			"invalid-value hard_cutoff_threshold: hard_cutoff_threshold is 3 and consecutive_threshold 3; the first must be more than the second",
		}},
		"the wrong order with the default for the end": {spec.LoopDetection{ConsecutiveThreshold: new(8)}, []string{
			"invalid-value consecutive_threshold: hard_cutoff_threshold is 6 and consecutive_threshold 8; the first must be more than the second",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.settings.Validate(), tt.want...)
		})
	}
	hint := (&spec.LoopDetection{ConsecutiveThreshold: new(8)}).Validate()[0].Hint
	if hint != "the defaults are 6 and 3" {
		t.Errorf("the hint is %q", hint)
	}
}

func TestLoopDetectionIsOnOnlyWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings          *spec.LoopDetection
		consecutive, hard int
	}{
		"absent":           {nil, 0, 0},
		"empty":            {&spec.LoopDetection{}, 3, 6},
		"on":               {&spec.LoopDetection{Enabled: new(true)}, 3, 6},
		"off":              {&spec.LoopDetection{Enabled: new(false), ConsecutiveThreshold: new(2)}, 0, 0},
		"one threshold":    {&spec.LoopDetection{HardCutoffThreshold: new(9)}, 3, 9},
		"its own":          {&spec.LoopDetection{ConsecutiveThreshold: new(4), HardCutoffThreshold: new(5)}, 4, 5},
		"the other's only": {&spec.LoopDetection{ConsecutiveThreshold: new(2)}, 2, 6},
	} {
		consecutive, hard := tt.settings.Thresholds()
		if consecutive != tt.consecutive || hard != tt.hard {
			t.Errorf("%s: %d and %d, want %d and %d", name, consecutive, hard, tt.consecutive, tt.hard)
		}
	}
}

func TestToolBudgetsValidate(t *testing.T) {
	t.Parallel()
	many := make(map[string]spec.ToolBudget)
	for i := range 33 {
		many[fmt.Sprintf("tool_%d", i)] = spec.ToolBudget{MaxCalls: 1}
	}
	long := strings.Repeat("x", 121)
	for name, tt := range map[string]struct {
		budgets map[string]spec.ToolBudget
		want    []string
	}{
		"none":    {map[string]spec.ToolBudget{}, nil},
		"the end": {map[string]spec.ToolBudget{"none": {MaxCalls: 0}, "most": {MaxCalls: 1000}, long[:120]: {}}, nil},
		"too many calls, and too few": {map[string]spec.ToolBudget{"look": {MaxCalls: 1001}, "b.c": {MaxCalls: -1}}, []string{
			`invalid-value tool_budgets["b.c"].max_calls: max_calls is -1; it must lie between 0 and 1000`,
			"invalid-value tool_budgets.look.max_calls: max_calls is 1001; it must lie between 0 and 1000",
		}},
		"names": {map[string]spec.ToolBudget{"": {}, long: {}}, []string{
			`invalid-value tool_budgets[""]: the name of a tool has from 1 to 120 characters`,
			"invalid-value tool_budgets." + long + ": the name of a tool has from 1 to 120 characters",
		}},
		"too many": {many, []string{"invalid-value tool_budgets: there are 33 tool budgets; at most 32 are allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, (&spec.Agent{ModelID: "m", ToolBudgets: tt.budgets}).Validate(), tt.want...)
		})
	}
}

// Of two limits of cost the smaller holds, if they can be compared.
func TestLimitsOfCostInCurrencies(t *testing.T) {
	t.Parallel()
	limit := func(cost float64, currency string) *spec.Budgets {
		return &spec.Budgets{MaxCost: new(cost), Currency: currency}
	}
	for _, tt := range []struct{ own, other, want *spec.Budgets }{
		{limit(2, "USD"), limit(1, "USD"), limit(1, "USD")},
		{limit(1, ""), limit(2, "EUR"), limit(1, "EUR")},
		{limit(2, "EUR"), limit(1, ""), limit(1, "EUR")},
		{limit(2, "EUR"), limit(1, "USD"), limit(2, "EUR")},
		{&spec.Budgets{}, limit(1, "USD"), limit(1, "USD")},
		{limit(1, "USD"), &spec.Budgets{}, limit(1, "USD")},
	} {
		if diff := cmp.Diff(tt.want, tt.own.Within(tt.other)); diff != "" {
			t.Errorf("%+v within %+v (-want +got):\n%s", tt.own, tt.other, diff)
		}
	}
	if list := limit(1, "Euro").Validate(); len(list) != 1 || list[0].Path != "currency" {
		t.Errorf("an invalid currency: %v", list)
	}
}
