package claude

import "github.com/agentruntime/agentruntime/spec"

// The token budgets for the levels of reasoning effort. The APIs accept none below LeastBudget.
const (
	LeastBudget  = 1 << 10
	mediumBudget = 4000
	HighBudget   = 8000
	maxBudget    = 32000
)

// ThinkingBudget returns the maximum number of thinking tokens for the level or budget of an effort.
func ThinkingBudget(e *spec.Effort) int {
	switch e.Standard() {
	case "low":
		return LeastBudget
	case "medium":
		return mediumBudget
	case "high":
		return HighBudget
	case "max":
		return maxBudget
	default:
		return max(LeastBudget, e.Budget)
	}
}

// EffortLevel returns the level that corresponds to an effort.
func EffortLevel(e *spec.Effort) string {
	level := e.Standard()
	switch {
	case level != "":
		return level
	case e.Budget <= (LeastBudget+mediumBudget)/2:
		return "low"
	case e.Budget <= (mediumBudget+HighBudget)/2:
		return "medium"
	default:
		return "high"
	}
}
