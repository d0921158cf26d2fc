package spec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

func TestStopConditionValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		condition spec.StopCondition
		want      []string
	}{
		"rounds":          {spec.StopCondition{Type: spec.StopMaxRounds, Rounds: 3}, nil},
		"zero rounds":     {spec.StopCondition{Type: spec.StopMaxRounds}, nil},
		"negative rounds": {spec.StopCondition{Type: spec.StopMaxRounds, Rounds: -1}, []string{"invalid-value rounds: rounds is -1; it must lie between 0 and 100000000"}},
		"a day":           {spec.StopCondition{Type: spec.StopTimeout, Timeout: new(spec.Duration(24 * time.Hour))}, nil},
		"more than a day": {spec.StopCondition{Type: spec.StopTimeout, Timeout: new(spec.Duration(24*time.Hour + 1))}, []string{"invalid-value timeout: timeout is 24h0m0.000000001s; it must lie between 0 and 24h"}},
		"negative time":   {spec.StopCondition{Type: spec.StopTimeout, Timeout: new(spec.Duration(-1))}, []string{"invalid-value timeout: timeout is -1ns; it must lie between 0 and 24h"}},
		"no time":         {spec.StopCondition{Type: spec.StopTimeout}, nil},
		"tokens":          {spec.StopCondition{Type: spec.StopTokenBudget, MaxTotal: 100_000_001}, []string{"invalid-value max_total: max_total is 100000001; it must lie between 0 and 100000000"}},
		"errors":          {spec.StopCondition{Type: spec.StopConsecutiveErrors, Max: -1}, []string{"invalid-value max: max is -1; it must lie between 0 and 100000000"}},
		"a tool":          {spec.StopCondition{Type: spec.StopOnTool, ToolName: "done"}, nil},
		"a pattern":       {spec.StopCondition{Type: spec.StopContentMatch, Pattern: `DONE\b`}, nil},
		"a bad pattern":   {spec.StopCondition{Type: spec.StopContentMatch, Pattern: `(`}, []string{"invalid-value pattern: the regular expression does not compile: error parsing regexp: missing closing ): `(`"}},
		"a long pattern":  {spec.StopCondition{Type: spec.StopContentMatch, Pattern: strings.Repeat("x", 1025)}, []string{"invalid-value pattern: the regular expression has 1025 characters; at most 1024 are allowed"}},
		"a window":        {spec.StopCondition{Type: spec.StopLoopDetection, Window: 64}, nil},
		"a wide window":   {spec.StopCondition{Type: spec.StopLoopDetection, Window: 65}, []string{"invalid-value window: window is 65; it must lie between 0 and 64"}},
		"no type":         {spec.StopCondition{}, []string{"missing-field type: type is required"}},
		"an unknown type": {spec.StopCondition{Type: "budget"}, []string{`invalid-value type: stop condition "budget" is unknown; allowed are max_rounds, timeout, token_budget, consecutive_errors, stop_on_tool, content_match and loop_detection`}},
		// Only the fields of its type count.
		"a field of another type": {spec.StopCondition{Type: spec.StopOnTool, Rounds: -1, Pattern: "("}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.condition.Validate(), tt.want...)
		})
	}
}
