package resolve

import (
	"fmt"

	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/agentruntime/agentruntime/spec"
)

// policyOf returns the agent's context policy, clamped to its model's limits.
func (t *template) policyOf(agent *spec.Agent) window.Policy {
	return window.Resolve(agent.ContextPolicy, t.capabilities.ContextWindow, t.capabilities.MaxOutput)
}

// clampPolicy replaces the agent's declared policy with the one limited by its model and completed
// by the defaults.
func (r *resolver) clampPolicy() {
	if r.agent.ContextPolicy == nil || r.executor == nil {
		return
	}
	own := *r.agent
	p := r.policyOf(r.agent)
	own.ContextPolicy = p.Spec(r.agent.ContextPolicy)
	r.agent = &own
}

// policyText describes the agent's effective context policy for people.
func (t *template) policyText(agent *spec.Agent) string {
	p := t.policyOf(agent)
	text := fmt.Sprintf("context_policy: %d tokens, %d of them for the answer", p.ContextTokens, p.OutputTokens)
	if p.CompactAt > 0 {
		text += fmt.Sprintf("; summaries from %d on", p.CompactAt)
	}
	return text
}

// newWindow returns the plugin that keeps the agent's conversation inside the
// newWindow of its model.
func (t *template) newWindow(agent *spec.Agent) *window.Plugin {
	by, id := t.served, t.agent.ModelID
	if t.summary.executor != nil {
		by, id = t.summary, agent.ContextPolicy.SummaryModelID
	}
	summarizer := window.Summarizer{Executor: by.executor, ModelID: id, ContextTokens: by.capabilities.ContextWindow}
	if by.pool == nil {
		summarizer.Upstream = by.upstream
	}
	return window.New(t.policyOf(agent), summarizer)
}

// maxOutput returns the maximum number of tokens in an answer of the agent: those that its context
// policy reserves, or else the model's declared maximum; 0 leaves it to the model.
func (r *resolver) maxOutput(agent *spec.Agent) int {
	if agent.ContextPolicy == nil {
		return r.capabilities.DeclaredOutput
	}
	p := r.policyOf(agent)
	return p.OutputTokens
}

// modelPrices returns the prices of the models that the agent may use, by id.
func (r *resolver) modelPrices() map[string]*spec.Pricing {
	if r.summary.capabilities.Pricing == nil {
		return r.capabilities.Pricing
	}
	all := make(map[string]*spec.Pricing)
	for _, known := range []map[string]*spec.Pricing{r.capabilities.Pricing, r.summary.capabilities.Pricing} {
		for id, p := range known {
			all[id] = p
		}
	}
	return all
}
