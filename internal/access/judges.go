package access

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/agentruntime/agentruntime/spec"
)

// positive returns a limit, nil for 0, which means unlimited.
func positive(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// isAbove reports whether a limit allows more than an earlier one. Nil means no limit.
func isAbove(after, before *int) bool {
	return before != nil && (after == nil || *after > *before)
}

func variablesWiden(before, after *spec.Agent) bool {
	return len(before.Variables) > 0 && !isNarrowerSchema(after.Variables, before.Variables)
}

func onMaxRoundsWidens(before, after *spec.Agent) bool {
	is, was := cmp.Or(after.OnMaxRounds, spec.MaxRoundsStops), cmp.Or(before.OnMaxRounds, spec.MaxRoundsStops)
	return is != spec.MaxRoundsFails && is != was
}

func onTruncationWidens(before, after *spec.Agent) bool {
	return before.OnTruncation == spec.TruncationFails && after.OnTruncation != spec.TruncationFails
}

// stopping returns a field of stop conditions. With kinds, it compares conditions of these kinds;
// without, only whether a kind has any condition.
func stopping(name, widens string, kinds ...spec.StopType) Field {
	f := Field{Path: "stop_conditions." + name, Class: Narrowing, Widens: widens, Overlay: MayNarrow}
	f.widens = func(before, after *spec.Agent) bool {
		return slices.ContainsFunc(before.StopConditions, func(was spec.StopCondition) bool {
			if !isEffective(&was) || isHeld(&was, after.StopConditions) {
				return false
			}
			remains := slices.ContainsFunc(after.StopConditions, func(is spec.StopCondition) bool { return is.Type == was.Type })
			return remains == (len(kinds) > 0) && (len(kinds) == 0 || slices.Contains(kinds, was.Type))
		})
	}
	return f
}

// isHeld reports whether one of the conditions in list stops a turn whenever was does.
func isHeld(was *spec.StopCondition, list []spec.StopCondition) bool {
	return slices.ContainsFunc(list, func(is spec.StopCondition) bool {
		return is.Type == was.Type && is.ToolName == was.ToolName && is.Pattern == was.Pattern && isEffective(&is) && stopsAt(&is) <= stopsAt(was)
	})
}

// isEffective reports whether a condition is not disabled.
func isEffective(c *spec.StopCondition) bool {
	return stopsAt(c) > 0 || c.Type == spec.StopOnTool && c.ToolName != "" || c.Type == spec.StopContentMatch && c.Pattern != ""
}

// stopsAt returns the number at which a condition stops a turn; 0 if it has none.
func stopsAt(c *spec.StopCondition) int64 {
	switch c.Type {
	case spec.StopMaxRounds:
		return int64(c.Rounds)
	case spec.StopTimeout:
		if c.Timeout != nil {
			return int64(*c.Timeout)
		}
	case spec.StopTokenBudget:
		return int64(c.MaxTotal)
	case spec.StopConsecutiveErrors:
		return int64(c.Max)
	case spec.StopLoopDetection:
		return int64(c.Window)
	case spec.StopOnTool, spec.StopContentMatch:
	}
	return 0
}

// effortWidens compares efforts. The vendor decides the effort of an agent without one, and a
// tenant sets its own variables, so neither has a known share.
func effortWidens(before, after *spec.Agent) bool {
	was, is := before.ReasoningEffort, after.ReasoningEffort
	if reflect.DeepEqual(was, is) {
		return false
	}
	if was != nil && is != nil && was.Budget > 0 && is.Budget > 0 {
		return is.Budget > was.Budget
	}
	const most = 100
	var low, high int // the lowest before, and the highest after
	if is == nil || is.Variable != "" {
		high = most
	} else if share, ok := is.Share(); ok {
		high = share
	} else {
		high = most + 1 // a token budget may be any share
	}
	if was == nil || was.Variable != "" || was.Budget > 0 {
		low = 0
	} else {
		low, _ = was.Share()
	}
	return high > low
}

// budget returns a field of budgets.
func budget(name, widens string) Field {
	return Field{Path: "budgets." + name, Class: Narrowing, Widens: widens, Overlay: MayLowerBudgets, widens: func(before, after *spec.Agent) bool {
		return slices.Contains(after.Budgets.Exceeds(before.Budgets), name)
	}}
}

func loopDetectionStops(before, after *spec.Agent) bool {
	was, _ := before.LoopDetection.Thresholds()
	is, _ := after.LoopDetection.Thresholds()
	return was > 0 && is == 0
}

// threshold returns a threshold of loop detection.
func threshold(name string, of func(*spec.LoopDetection) int) Field {
	return Field{Path: "loop_detection." + name, Class: Narrowing, Widens: "raised", Overlay: MayNarrow, widens: func(before, after *spec.Agent) bool {
		was, is := of(before.LoopDetection), of(after.LoopDetection)
		return was > 0 && is > was
	}}
}

func toolBudgetsWiden(before, after *spec.Agent) bool {
	for tool, was := range before.ToolBudgets {
		if is, ok := after.ToolBudgets[tool]; !ok || is.MaxCalls > was.MaxCalls {
			return true
		}
	}
	return false
}

func outputWidens(before, after *spec.Agent) bool {
	was, is := before.OutputSchema, after.OutputSchema
	return was != nil && (is == nil || !isNarrowerSchema(is.Schema, was.Schema))
}

func onMismatchWidens(before, after *spec.Agent) bool {
	was, is := before.OutputSchema, after.OutputSchema
	return was != nil && is != nil && was.OnMismatch != spec.MismatchAccepted && is.OnMismatch == spec.MismatchAccepted
}

// endpoint returns a field of the endpoint.
func endpoint(name, widens string, of func(*spec.Endpoint) any) Field {
	return Field{Path: "endpoint." + name, Class: Widening, Widens: widens, Overlay: MayNotChange, widens: endpointDiffers(of)}
}

// endpointDiffers reports whether turns go to another endpoint, where the effect is unknown.
func endpointDiffers(of func(*spec.Endpoint) any) func(before, after *spec.Agent) bool {
	return func(before, after *spec.Agent) bool {
		return after.Endpoint != nil && (before.Endpoint == nil || !reflect.DeepEqual(of(before.Endpoint), of(after.Endpoint)))
	}
}

func endpointTimeoutWidens(before, after *spec.Agent) bool {
	return before.Endpoint != nil && after.Endpoint != nil && after.Endpoint.Limit() > before.Endpoint.Limit()
}

// shownAuth returns a credential without its secrets, which may be renewed.
func shownAuth(e *spec.Endpoint) any {
	data, _ := json.Marshal(e.Auth) // texts always encode
	return string(data)
}

// backendOptions returns the options of an endpoint without the model of a hosted agent,
// which is a choice like model_id.
func backendOptions(e *spec.Endpoint) any {
	options := maps.Clone(e.Options)
	if e.Backend == spec.HostedBackend {
		delete(options, spec.HostedModel)
	}
	if len(options) == 0 {
		return map[string]json.RawMessage(nil)
	}
	return options
}

// tierWidens reports whether the service tier changed, which may raise costs.
func tierWidens(before, after *spec.Agent) bool {
	return after.ServiceTier != "" && before.ServiceTier != after.ServiceTier
}

// requestWidens reports whether requests have other fields.
func requestWidens(before, after *spec.Agent) bool {
	return after.Request != nil && !reflect.DeepEqual(before.Request, after.Request)
}
