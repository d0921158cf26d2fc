package openai

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// concessions are what a request does without, because the model was found to
// refuse it. Which model takes what is not published in a form a program could
// read, and the names of deployments say nothing, so it is found out: once for
// each model and thing, at the price of a refused request.
type concessions struct {
	// plainReasoning does not ask for reasoning in its encrypted form, which
	// models that do not reason refuse to give.
	plainReasoning bool
	// noSummary does not ask for a summary of the reasoning.
	noSummary bool
	// refusedEfforts are the levels of reasoning effort that the model does not
	// know. Where no other level is near what an agent wants, the vendor decides.
	refusedEfforts effortSet
	// freeChoice leaves the choice of tools to the model. One that must not call
	// any is then not told of them.
	freeChoice bool
	// noOutputForm does not ask for a form of the answer.
	noOutputForm bool
	// looseSchema does not ask for the strict mode. Like the next, it is no
	// matter of the model: a schema was refused that was taken to fit.
	looseSchema bool
	// shortDescriptions cuts the descriptions of tools to 1024 characters, which some models
	// require.
	shortDescriptions bool
	// forgetReasoning leaves the reasoning of earlier answers out: what was
	// encrypted for another organization cannot be read.
	forgetReasoning bool
}

// afterRefusal returns the concessions with which a refused request is worth sending
// once more.
func (c concessions) afterRefusal(failure *model.Error, req *model.Request) (concessions, bool) {
	r, ok := errors.AsType[*refusal](failure.Err)
	if !ok || r.status != http.StatusBadRequest && r.status != http.StatusUnprocessableEntity {
		return c, false
	}
	before := c
	switch {
	case r.code == "invalid_encrypted_content":
		c.forgetReasoning = true
	case len(req.Tools) > 0 && r.code == "string_above_max_length" && strings.HasSuffix(r.param, ".description"):
		c.shortDescriptions = true
	case strings.HasPrefix(r.param, "include"):
		c.plainReasoning = true
	case r.blamesField("reasoning.summary"):
		c.noSummary = true
	case r.blamesField("reasoning.effort", "reasoning_effort"):
		c.refusedEfforts |= setOf(c.reasoningEffort(req))
	case req.Output != nil && r.blamesField("response_format", "text.format", "json_schema"):
		if !r.blamesSchema() {
			c.noOutputForm = true
		} else if formOf(req.Output, c).Strict {
			c.looseSchema = true
		}
	case req.ToolChoice.Mode != model.ToolsAuto && r.blamesField("tool_choice"):
		c.freeChoice = true
	}
	return c, c != before
}

// blamesField reports whether the refusal is about one of the fields. Compatible
// servers name it only in their message.
func (r *refusal) blamesField(fields ...string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		return strings.HasPrefix(r.param, field) || strings.Contains(r.message, field)
	})
}

// blamesSchema reports whether the refusal is about what a schema says.
func (r *refusal) blamesSchema() bool {
	return r.code == "invalid_json_schema" || strings.HasSuffix(r.param, ".schema") ||
		strings.Contains(strings.ToLower(r.message), "invalid schema")
}

// ofModel returns the concessions that are a matter of the model.
func (c concessions) ofModel() concessions {
	c.forgetReasoning, c.looseSchema = false, false
	return c
}

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

var (
	efforts = []effortLevel{
		effortNone, effortMinimal, effortLow,
		effortMedium, effortHigh, effortXhigh, effortMax,
	}
	// highestEfforts and lowestEfforts are what the level max and the level off
	// amount to, the best first: few models know all.
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

// reasoningEffort returns the vendor's level of reasoning effort, empty to leave it to
// the vendor.
func (c concessions) reasoningEffort(req *model.Request) effortLevel {
	if req.ReasoningEffort == nil {
		return ""
	}
	for _, level := range levelsOf(req.ReasoningEffort) {
		if c.refusedEfforts&setOf(level) == 0 {
			return level
		}
	}
	return ""
}

// levelsOf returns the vendor's levels that an effort may be asked for by, the
// best first.
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
