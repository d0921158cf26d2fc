package google

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

// generation is derived from a model's name, because no machine-readable description exists.
type generation struct {
	// major is the number of the generation. A name without one counts as one of the newest: such
	// names are aliases or future models.
	major int
	// first is set for the first models of a generation, such as gemini-3-pro, whose name has no
	// second number or a 0.
	first bool
	// pro is set for the largest models, whose thinking cannot be disabled.
	pro bool
}

const (
	// newest is the generation of models whose name has no number.
	newest = math.MaxInt
	// levelsSince is the first generation that uses thinking levels instead of budgets, checks
	// signatures, accepts a form for the answer together with tools, and reads images in call
	// results.
	levelsSince = 3
	// numbersUpTo prevents dates in a name from being read as a generation.
	numbersUpTo = 99
)

// generationPattern matches the first number of a name, as in models/gemini-2.5-pro and
// gemini-robotics-er-1.5-preview.
var generationPattern = regexp.MustCompile(`gemini(?:-[a-z]+)*-(\d+)(?:\.(\d+))?(?:[-@:]|$)`)

func generationOf(name string) generation {
	name = strings.ToLower(name)
	g := generation{major: newest, pro: hasWord(name, "pro")}
	found := generationPattern.FindStringSubmatch(name)
	if found == nil {
		return g
	}
	if n, err := strconv.Atoi(found[1]); err == nil && n <= numbersUpTo {
		g.major = n
		g.first = found[2] == "" || found[2] == "0"
	}
	return g
}

// hasWord reports whether word is one of the parts of a model's name.
func hasWord(name, word string) bool {
	for part := range strings.SplitSeq(name, "-") {
		if part == word {
			return true
		}
	}
	return false
}

// hasLevels reports whether the model's generation is levelsSince or later.
func (g generation) hasLevels() bool { return g.major >= levelsSince }

// The token budgets commonly used for the levels of reasoning effort.
const (
	lowBudget    = 1 << 10
	mediumBudget = 8 << 10
	highBudget   = 24 << 10
	// dynamicBudget leaves the budget to the model.
	dynamicBudget = -1
	// smallestBudget is the smallest budget accepted by every model with budgets.
	smallestBudget = 512
	// smallestProBudget is the minimum for models that always think, and thus the closest to none.
	smallestProBudget = 128
)

// thinkingSupport is the support for thinking, learned from rejected requests.
type thinkingSupport struct {
	// swapped is set if the generation's levels or budgets were rejected, and none if both, or all
	// thinking, were rejected.
	swapped, none bool
}

// afterRefusal returns the support after a rejection with a message, and reports whether it
// changed.
func (s thinkingSupport) afterRefusal(message string) (thinkingSupport, bool) {
	said := strings.NewReplacer("_", " ", "thinkinglevel", "thinking level", "thinkingbudget", "thinking budget").Replace(strings.ToLower(message))
	switch {
	case s.none || !strings.Contains(said, "thinking") || strings.Contains(said, "unknown name") || strings.Contains(said, "between"):
		return s, false
	case !s.swapped && (strings.Contains(said, "thinking level") || strings.Contains(said, "budget")):
		s.swapped = true
	case vendorhttp.SaysFixed(said) || s.swapped || strings.Contains(said, "only enabled when"):
		s.none = true
	default:
		return s, false
	}
	return s, true
}

// thinkingConfig returns how much the model should think; nil to leave it to the vendor.
func (g generation) thinkingConfig(effort *spec.Effort, support thinkingSupport) *thinkingParam {
	if effort == nil || *effort == (spec.Effort{}) || support.none {
		return nil
	}
	config := &thinkingParam{IncludeThoughts: effort.Standard() != "off"}
	if g.hasLevels() != support.swapped {
		config.ThinkingLevel = g.thinkingLevel(*effort)
	} else {
		budget := g.thinkingBudget(*effort)
		config.ThinkingBudget = &budget
	}
	return config
}

// thinkingLevel returns the level of thinking. No level disables it. If a model lacks a level, the
// nearest is used.
func (g generation) thinkingLevel(effort spec.Effort) thinkingLevel {
	level := effort.Standard()
	if level == "" {
		switch {
		case effort.Budget < (lowBudget+mediumBudget)/2:
			level = "low"
		case effort.Budget < (mediumBudget+highBudget)/2:
			level = "medium"
		}
	}
	switch {
	case level == "off" && !g.pro:
		return thinkingMinimal
	case level == "off" || level == "low":
		return thinkingLow
	case level == "medium" && (!g.pro || !g.first):
		return thinkingMedium
	default:
		return thinkingHigh
	}
}

// thinkingBudget returns the maximum number of thinking tokens.
func (g generation) thinkingBudget(effort spec.Effort) int32 {
	switch effort.Standard() {
	case "":
		return int32(min(effort.Budget, math.MaxInt32))
	case "off":
		if g.pro {
			return smallestProBudget
		}
		return 0
	case "max":
		return dynamicBudget
	}
	switch effort.Level {
	case "low":
		return lowBudget
	case "medium":
		return mediumBudget
	case "high":
		return highBudget
	}
	return int32(max(highBudget*effort.Percent/100, smallestBudget))
}
