package bedrock

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
	"github.com/agentruntime/agentruntime/spec"
)

// askEffort requests reasoning in the form of the model's family. Other families have no published
// form.
func (p *plan) askEffort(req *model.Request, family family, c concessions) {
	e := req.ReasoningEffort
	if e == nil || c.has(noEffort) {
		return
	}
	level := claude.EffortLevel(e)
	known := level
	if known == "max" {
		known = "high"
	}
	switch {
	case family == familyClaude:
		p.askThinking(e, level, c)
	case level == "off":
	case family == familyNova:
		p.body.Additional = map[string]any{"reasoningConfig": map[string]string{"type": "enabled", "maxReasoningEffort": known}}
	case family == familyOpenAI:
		p.body.Additional = map[string]any{"reasoning_effort": known}
	}
	if p.body.Additional != nil {
		p.features |= asksEffort
	}
}

// askThinking requests thinking from Claude. It does not if Claude must call a tool or has called
// tools without thinking, because the API rejects that.
func (p *plan) askThinking(e *spec.Effort, level string, c concessions) {
	switch {
	case level == "off":
		p.body.Additional = map[string]any{"thinking": map[string]string{"type": "disabled"}}
		return
	case p.has(chooses):
		return
	case c.has(adaptive):
		p.body.Additional = map[string]any{"thinking": map[string]string{"type": "adaptive", "display": "summarized"}}
		p.body.OutputConfig.Effort = level
		p.features |= thinks
		return
	case calledWithoutReasoning(p.body.Messages):
		return
	}
	budget := claude.ThinkingBudget(e)
	if limit := p.body.InferenceConfig.MaxTokens; limit > 0 && budget >= limit {
		budget = limit / 2
	}
	if budget < claude.LeastBudget {
		return
	}
	p.body.Additional = map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": budget}}
	p.features |= thinks
}

// calledWithoutReasoning reports whether the model called tools without thinking and is about to
// read their results.
func calledWithoutReasoning(messages []*messageParam) bool {
	calls := false
	for i := len(messages) - 1; i >= 0; i-- {
		first := messages[i].Content[0]
		switch {
		case messages[i].Role == roleAssistant && first.Reasoning != nil:
			return false
		case messages[i].Role == roleAssistant:
			calls = true
		case first.ToolResult == nil:
			return calls
		}
	}
	return calls
}

func hasReasoning(messages []*messageParam) bool {
	for _, m := range messages {
		for i := range m.Content {
			if m.Content[i].Reasoning != nil {
				return true
			}
		}
	}
	return false
}
