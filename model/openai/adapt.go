package openai

import (
	"errors"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/openai/openai-go/v3/shared"
)

// concessions are what a request does without, because the model was found to
// refuse it. Which model takes what is not published in a form a program could
// read, and the names of deployments say nothing, so it is found out: at most
// once per model, at the price of one refused request.
type concessions struct {
	// plainReasoning does not ask for reasoning in its encrypted form, which
	// models that do not reason refuse to give.
	plainReasoning bool
	// noSummary does not ask for a summary of the reasoning.
	noSummary bool
	// effortSteps is how many levels below the highest an agent that wants
	// the highest reasoning effort has to settle for.
	effortSteps int
	// forgetReasoning leaves the reasoning of earlier answers out. It is a
	// matter of the conversation, not of the model: reasoning that was
	// encrypted for another organization cannot be read.
	forgetReasoning bool
}

// after returns the concessions with which a refused request is worth sending
// once more.
func (c concessions) after(failure *model.Error, req *model.Request) (concessions, bool) {
	refusal, ok := errors.AsType[*refusal](failure.Err)
	if !ok || refusal.status != http.StatusBadRequest {
		return c, false
	}
	before := c
	switch {
	case refusal.code == "invalid_encrypted_content":
		c.forgetReasoning = true
	case strings.HasPrefix(refusal.param, "include"):
		c.plainReasoning = true
	case refusal.param == "reasoning.summary":
		c.noSummary = true
	case refusal.param == "reasoning.effort" || refusal.param == "reasoning_effort":
		if wantsHighest(req) && c.effortSteps < len(highestEfforts)-1 {
			c.effortSteps++
		}
	}
	return c, c != before
}

func (e *Executor) concessionsOf(name string) concessions {
	if known, ok := e.known.Load(name); ok {
		return known.(concessions)
	}
	return concessions{}
}

// remember keeps what was learned about a model.
func (e *Executor) remember(name string, c concessions) {
	c.forgetReasoning = false
	if c != e.concessionsOf(name) {
		e.known.Store(name, c)
	}
}

// highestEfforts are the levels that stand for the highest effort, the highest
// first.
var highestEfforts = []shared.ReasoningEffort{
	shared.ReasoningEffortMax, shared.ReasoningEffortXhigh, shared.ReasoningEffortHigh,
}

func wantsHighest(req *model.Request) bool {
	return req.ReasoningEffort != nil && req.ReasoningEffort.Level == "max"
}

// The token budgets that the levels of reasoning effort are commonly held to
// stand for. The API knows only levels.
const (
	lowBudget    = 1 << 10
	mediumBudget = 8 << 10
	highBudget   = 24 << 10
)

// effort returns the vendor's level of reasoning effort, empty to leave it to
// the vendor.
func (c concessions) effort(req *model.Request) shared.ReasoningEffort {
	switch {
	case req.ReasoningEffort == nil:
		return ""
	case wantsHighest(req):
		return highestEfforts[c.effortSteps]
	}
	switch level := req.ReasoningEffort.Standard(); level {
	case "":
	case "off":
		return shared.ReasoningEffortNone
	default:
		return shared.ReasoningEffort(level)
	}
	switch budget := req.ReasoningEffort.Budget; {
	case budget <= 0:
		return ""
	case budget < (lowBudget+mediumBudget)/2:
		return shared.ReasoningEffortLow
	case budget < (mediumBudget+highBudget)/2:
		return shared.ReasoningEffortMedium
	default:
		return shared.ReasoningEffortHigh
	}
}
