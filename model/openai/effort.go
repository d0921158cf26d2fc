package openai

import (
	"slices"

	"github.com/agentruntime/agentruntime/spec"
)

// effortLevel is one of the vendor's levels of reasoning effort.
type effortLevel string

const (
	effortNone    effortLevel = "none"
	effortMinimal effortLevel = "minimal"
	effortLow     effortLevel = "low"
	effortMedium  effortLevel = "medium"
	effortHigh    effortLevel = "high"
	effortXhigh   effortLevel = "xhigh"
	effortMax     effortLevel = "max"
)

// effortSet is a set of levels of reasoning effort.
type effortSet uint8

// allEfforts is the set of all levels.
const allEfforts effortSet = 1<<7 - 1

var (
	efforts = []effortLevel{
		effortNone, effortMinimal, effortLow,
		effortMedium, effortHigh, effortXhigh, effortMax,
	}
	// highestEfforts and lowestEfforts are the equivalents of the levels max and off, best first:
	// few models know all.
	highestEfforts = []effortLevel{effortMax, effortXhigh, effortHigh}
	lowestEfforts  = []effortLevel{effortNone, effortMinimal, effortLow}
)

// setOf returns the set of one level; it is empty for a level that there is not.
func setOf(level effortLevel) effortSet {
	if i := slices.Index(efforts, level); i >= 0 {
		return 1 << i
	}
	return 0
}

// The token budgets that the levels of reasoning effort are commonly held to
// stand for. The API knows only levels.
const (
	lowBudget    = 1 << 10
	mediumBudget = 8 << 10
	highBudget   = 24 << 10
)

// levelsOf returns the vendor's levels for an effort, best first.
func levelsOf(e *spec.Effort) []effortLevel {
	switch level := e.Standard(); {
	case level == "max":
		return highestEfforts
	case level == "off":
		return lowestEfforts
	case level != "":
		return []effortLevel{effortLevel(level)}
	case e.Budget <= 0:
		return nil
	case e.Budget < (lowBudget+mediumBudget)/2:
		return []effortLevel{effortLow}
	case e.Budget < (mediumBudget+highBudget)/2:
		return []effortLevel{effortMedium}
	default:
		return []effortLevel{effortHigh}
	}
}
