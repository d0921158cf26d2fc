package resolve

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/agentruntime/agentruntime/spec"
)

// policyOf returns the agent's context policy, clamped to what its model can do.
func (t *template) policyOf(agent *spec.Agent) window.Policy {
	return window.Resolve(agent.ContextPolicy, t.capabilities.ContextWindow, t.capabilities.MaxOutput)
}

// clampPolicy gives the agent the policy that its model and the defaults make of
// the one it declares.
func (t *template) clampPolicy() {
	if t.agent.ContextPolicy == nil || t.executor == nil {
		return
	}
	own := *t.agent
	p := t.policyOf(t.agent)
	own.ContextPolicy = p.Spec(t.agent.ContextPolicy)
	t.agent = &own
}

// policyText describes the agent's effective context policy for people.
func (t *template) policyText(agent *spec.Agent) string {
	p := t.policyOf(agent)
	text := fmt.Sprintf("%s: %d tokens, %d of them for the answer", t.summaryAt[:strings.LastIndexByte(t.summaryAt, '.')], p.ContextTokens, p.OutputTokens)
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
	summariser := window.Summariser{Executor: by.executor, ModelID: id, ContextTokens: by.capabilities.ContextWindow}
	if by.pool == nil {
		summariser.Upstream = by.upstream
	}
	return window.New(t.policyOf(agent), summariser)
}

// maxOutput returns how many tokens an answer of the agent may have: those that its
// context policy keeps free, or else all that its model declares; 0 leaves it to the
// model.
func (t *template) maxOutput(agent *spec.Agent) int {
	if agent.ContextPolicy == nil {
		return t.capabilities.DeclaredOutput
	}
	p := t.policyOf(agent)
	return p.OutputTokens
}

// modelPrices returns what the models cost that the agent may ask, by id.
func (t *template) modelPrices() map[string]*spec.Pricing {
	if t.summary.capabilities.Pricing == nil {
		return t.capabilities.Pricing
	}
	all := make(map[string]*spec.Pricing)
	for _, known := range []map[string]*spec.Pricing{t.capabilities.Pricing, t.summary.capabilities.Pricing} {
		for id, p := range known {
			all[id] = p
		}
	}
	return all
}
