package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// unmeasuredCosts returns why a cost limit could not be enforced: the models that the agent or
// its delegates may call and that have no price, or a price in another currency. With an empty
// currency, all prices must share one. Remote agents report their own costs.
func (x *index) unmeasuredCosts(t *template, agent *spec.Agent, currency string) []string {
	c := costs{index: x, asking: t, currency: currency, seen: map[string]bool{}}
	c.checkAgent(agent)
	return c.reasons
}

// costs collects models whose cost cannot be measured.
type costs struct {
	*index
	// asking is the template that depends on the result; nil for a turn.
	asking   *template
	currency string
	seen     map[string]bool
	reasons  []string
}

// checkAgent checks the models of an agent and of all agents that it can call.
func (c *costs) checkAgent(agent *spec.Agent) {
	if c.seen["agent "+agent.ID] || !agent.Local() {
		return
	}
	c.seen["agent "+agent.ID] = true
	of := ""
	if len(c.seen) > 1 {
		of = fmt.Sprintf(" of agent %q", agent.ID)
	}
	c.checkModel(agent.ModelID, of)
	if agent.ContextPolicy != nil && agent.ContextPolicy.SummaryModelID != "" {
		c.checkModel(agent.ContextPolicy.SummaryModelID, of)
	}
	for _, id := range slices.Concat(agent.Delegates, agent.Handoffs) {
		next, ok := c.set.Agent(id)
		if c.asking != nil {
			c.asking.dependOnAgent(onRecord, id, next)
		}
		if ok {
			effective, _ := c.set.Defaults.Apply(next)
			c.checkAgent(effective)
		}
	}
}

// checkModel checks a model, or the members of a pool.
func (c *costs) checkModel(id, of string) {
	c.dependOn(id)
	if pool, ok := c.set.Pools.Get(id); ok {
		for i := range pool.Members {
			c.checkPrice(pool.Members[i].ModelID, of)
		}
		return
	}
	c.checkPrice(id, of)
}

func (c *costs) dependOn(modelID string) {
	if c.asking != nil {
		c.asking.dependOn(onModel, modelID)
	}
}

func (c *costs) checkPrice(id, of string) {
	c.dependOn(id)
	m, ok := c.set.Models.Get(id)
	if !ok || c.seen["model "+id] {
		return // a missing one is reported elsewhere
	}
	c.seen["model "+id] = true
	m = c.completeModel(m, c.listedModel(m))
	switch {
	case m.Pricing == nil:
		c.reasons = append(c.reasons, fmt.Sprintf("model %q%s has no pricing", id, of))
	case c.currency == "":
		c.currency = m.Pricing.CurrencyCode()
	case c.currency != m.Pricing.CurrencyCode():
		c.reasons = append(c.reasons, fmt.Sprintf("model %q%s has prices in %s, not in %s", id, of, m.Pricing.CurrencyCode(), c.currency))
	}
}

// warnUnmeasuredCost warns about a cost limit that some calls can bypass.
func (r *resolver) warnUnmeasuredCost() {
	b := r.agent.Budgets
	switch {
	case b == nil:
		return
	case b.MaxCost == nil:
		if b.Currency != "" {
			r.warnIneffective("budgets.currency", "currency has no effect without max_cost")
		}
		return
	}
	if reasons := r.index.unmeasuredCosts(r.template, r.agent, b.Currency); len(reasons) > 0 {
		r.addWarning(diag.New(diag.NoEffect, r.pathOf("budgets.max_cost"), "max_cost cannot be measured: %s", strings.Join(reasons, "; ")).
			WithHint("give the models pricing in one currency, or limit max_tokens"))
	}
}

// UnmeasuredCostError reports that a turn's cost limit cannot be measured.
type UnmeasuredCostError struct {
	// Agent is the agent to run.
	Agent string
	// Reasons name the models without a price in the currency of the limit.
	Reasons []string
}

// Error names the reasons.
func (e *UnmeasuredCostError) Error() string { return e.Diagnostic().Error() }

// Diagnostic describes the error.
func (e *UnmeasuredCostError) Diagnostic() diag.Diagnostic {
	d := diag.New(diag.NoEffect, "budgets.max_cost", "max_cost cannot be measured: %s", strings.Join(e.Reasons, "; ")).
		WithHint("limit the tokens instead").ForAgent(e.Agent)
	d.Severity = diag.Error
	return d
}
