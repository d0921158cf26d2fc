package a2a

import (
	"cmp"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/spec"
)

// checkLimits returns an error if the peer must not be called because turns would nest too deep or
// a budget is used up.
func (t *turn) checkLimits() error {
	if t.job.MaxDepth > 0 && t.taskDepth() > t.job.MaxDepth {
		return t.exchange.Fail(client.CodeDepth, fmt.Sprintf("turns may be nested %d deep", t.job.MaxDepth), nil)
	}
	if err := t.job.Meter.Exceeded(); err != nil {
		return err
	}
	left := t.job.Meter.Left()
	switch {
	case left == nil:
		return nil
	case left.MaxTokens != nil && *left.MaxTokens <= 0:
		return usedUp(backend.BudgetTokens, t.job.Meter.Spent().Tokens)
	case left.MaxModelCalls != nil && *left.MaxModelCalls <= 0:
		return usedUp(backend.BudgetModelCalls, t.job.Meter.Spent().ModelCalls)
	}
	return nil
}

// taskDepth is the number of turns that led to the task, which is the same as for this turn. It
// is at least 1, so that runtimes which send turns to each other stop eventually.
func (t *turn) taskDepth() int { return max(t.job.Depth, 1) }

// usedUp returns the error for an exhausted budget.
func usedUp(budget string, used int) error {
	return &backend.BudgetError{Budget: budget, Limit: float64(used), Used: float64(used)}
}

// newGrant returns the remaining budgets for the peer, and their deadline.
func (t *turn) newGrant() *a2awire.Grant {
	g := &a2awire.Grant{Depth: t.taskDepth(), Deadline: t.course.Deadline}
	left := t.job.Meter.Left()
	if left == nil {
		return g
	}
	g.MaxTokens, g.MaxModelCalls, g.MaxToolCalls = left.MaxTokens, left.MaxModelCalls, left.MaxToolCalls
	if left.MaxCost != nil {
		g.MaxCost, g.Currency = new(max(*left.MaxCost, 0)), cmp.Or(left.Currency, spec.DefaultCurrency)
	}
	if left.MaxDuration != nil {
		if end := time.Now().Add(left.MaxDuration.Std()); end.Before(g.Deadline) {
			g.Deadline = end
		}
	}
	return g
}

// countSpent counts the peer's usage. It ignores costs in another currency than the turn's.
func (t *turn) countSpent(used *a2awire.Report) {
	t.stats.Usage.Add(used.Usage)
	t.stats.Steps += used.Steps
	cost := 0.0
	if used.Cost != nil && (t.stats.Currency == "" || t.stats.Currency == used.Cost.Currency) {
		cost = used.Cost.Amount
		t.stats.Cost += cost
		t.stats.Currency = used.Cost.Currency
	}
	t.job.Meter.Spend(used.Usage, cost)
}
