package anthropic

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
	"github.com/agentruntime/agentruntime/spec"
)

// thinkingBudget returns the maximum number of thinking tokens; a share is relative to the high
// effort.
func thinkingBudget(e *spec.Effort) int {
	if e.Percent > 0 {
		return max(claude.LeastBudget, claude.HighBudget*e.Percent/100)
	}
	return claude.ThinkingBudget(e)
}

// outputEffort returns the vendor's level for an effort.
func outputEffort(e *spec.Effort, c concessions) outputLevel {
	level := claude.EffortLevel(e)
	if level == "max" {
		return highestEfforts[c.effortSteps]
	}
	return outputLevel(level)
}

// highestEfforts are the levels for the highest effort, highest first.
var highestEfforts = []outputLevel{
	"max", "xhigh", "high",
}

// planThinking decides whether and how much the model thinks, and the maximum length of its answer.
// A limit of the request, the model or its window covers both, and the budget is reduced to fit;
// otherwise the budget is added to the usual limit.
func (p *plan) planThinking(req *model.Request, c concessions, usualLimit int) {
	p.limited = req.MaxOutputTokens > 0
	limit := c.outputLimit
	if p.limited && (limit == 0 || req.MaxOutputTokens < limit) {
		limit = req.MaxOutputTokens
	}
	if c.outputRoom > 0 && (limit == 0 || c.outputRoom < limit) {
		limit = c.outputRoom
	}
	e := req.ReasoningEffort
	tokens := 0
	switch {
	case e != nil && e.Standard() == "off" || p.forced && c.thinksUnasked:
		p.dontThink(c)
	case e == nil || p.forced || c.neverThinks || c.pauseThinking:
		// A model that must call a tool cannot think first.
	case c.adaptive:
		tokens = thinkingBudget(e)
		p.params.Thinking = &thinkingParam{Display: "summarized", Type: thinkingAdaptive}
		if !c.noEffort {
			p.params.OutputConfig.Effort = outputEffort(e, c)
		}
	case !calledWithoutThinking(p.params.Messages):
		tokens = thinkingBudget(e)
		if limit > 0 && tokens >= limit {
			tokens = limit / 2
		}
		if tokens < claude.LeastBudget {
			tokens = 0
			break
		}
		p.params.Thinking = &thinkingParam{BudgetTokens: tokens, Type: thinkingEnabled}
	}
	if !p.limited {
		usualLimit += tokens
		if limit == 0 || usualLimit < limit {
			limit = usualLimit
		}
	}
	p.params.MaxTokens = int64(limit)
}

func (p *plan) dontThink(c concessions) {
	if !c.alwaysThinks && !c.neverThinks {
		p.params.Thinking = &thinkingParam{Type: thinkingDisabled}
	}
}

// calledWithoutThinking reports whether the model called tools without thinking and is about to
// read their results. It cannot start thinking then: the API requires an answer's calls to follow
// the thoughts that led to them.
func calledWithoutThinking(messages []messageParam) bool {
	calls := false
	for i := len(messages) - 1; i >= 0; i-- {
		content := messages[i].Content
		if messages[i].Role == roleUser {
			if content[0].blockType() != typeToolResult {
				break
			}
			continue
		}
		if t := content[0].blockType(); t == typeThinking || t == typeRedacted {
			return false
		}
		calls = true
	}
	return calls
}
