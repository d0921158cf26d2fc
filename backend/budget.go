package backend

import (
	"fmt"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// The codes of a budget_exceeded termination, by budget.
const (
	BudgetTokens     = "tokens"
	BudgetCost       = "cost"
	BudgetDuration   = "duration"
	BudgetModelCalls = "model_calls"
	BudgetToolCalls  = "tool_calls"
)

// BudgetError reports that a turn exceeded its budgets, or those inherited from a delegating
// turn.
type BudgetError struct {
	// Budget is one of the codes above.
	Budget string
	// Limit and Used are in tokens, money, seconds or calls.
	Limit, Used float64
}

// Error names the budget and its limit.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget of %s is used up: %g of %g", e.Budget, e.Used, e.Limit)
}

// Spent is the usage of a turn and its delegates.
type Spent struct {
	Tokens     int           `json:"tokens,omitempty"`
	Cost       float64       `json:"cost,omitempty"`
	Duration   time.Duration `json:"duration,omitempty"`
	ModelCalls int           `json:"model_calls,omitempty"`
	ToolCalls  int           `json:"tool_calls,omitempty"`
}

// Meter enforces the budgets of a turn. A delegate's usage counts for all turns above it. A nil
// meter allows everything. It is safe for concurrent use.
type Meter struct {
	parent  *Meter
	budgets spec.Budgets

	mu    sync.Mutex
	spent Spent
	// began is the start of the current period of work.
	began time.Time
}

// NewMeter returns the meter of a turn that starts to work now with earlier usage spent, or nil if
// it has no limits. The parent is the delegating turn's meter, or nil.
func NewMeter(parent *Meter, budgets *spec.Budgets, spent Spent) *Meter {
	if budgets == nil && parent == nil {
		return nil
	}
	m := &Meter{parent: parent, spent: spent, began: time.Now()}
	if budgets != nil {
		m.budgets = *budgets
	}
	return m
}

// Rest returns a meter with the same limits for a turn that continues now after a pause, with its
// usage so far.
func (m *Meter) Rest(spent Spent) *Meter {
	if m == nil {
		return nil
	}
	return &Meter{parent: m.parent, budgets: m.budgets, spent: spent, began: time.Now()}
}

// Budgets returns the turn's own budgets; nil if it has none.
func (m *Meter) Budgets() *spec.Budgets {
	if m == nil || m.budgets == (spec.Budgets{}) {
		return nil
	}
	return &m.budgets
}

// Spent returns the usage so far, including the time since the turn was last resumed.
func (m *Meter) Spent() Spent {
	if m == nil {
		return Spent{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.spent
	s.Duration += time.Since(m.began)
	return s
}

// Remaining returns how much longer the turn may work; ok is false if its time is
// unlimited.
func (m *Meter) Remaining() (d time.Duration, ok bool) {
	for ; m != nil; m = m.parent {
		if m.budgets.MaxDuration == nil {
			continue
		}
		left := m.budgets.MaxDuration.Std() - m.Spent().Duration
		if !ok || left < d {
			d, ok = left, true
		}
	}
	return d, ok
}

// Left returns the turn's remaining budgets, limited by its ancestors; nil if it has no limits. An
// exhausted budget is 0 or less.
func (m *Meter) Left() *spec.Budgets {
	var left *spec.Budgets
	for ; m != nil; m = m.parent {
		limits, spent := m.budgets, m.Spent()
		own := spec.Budgets{
			MaxTokens: subtractUsed(limits.MaxTokens, spent.Tokens), MaxCost: subtractUsed(limits.MaxCost, spent.Cost), Currency: limits.Currency,
			MaxDuration:   subtractUsed(limits.MaxDuration, spec.Duration(spent.Duration)),
			MaxModelCalls: subtractUsed(limits.MaxModelCalls, spent.ModelCalls), MaxToolCalls: subtractUsed(limits.MaxToolCalls, spent.ToolCalls),
		}
		if own != (spec.Budgets{}) {
			left = own.Within(left)
		}
	}
	return left
}

// subtractUsed returns the remainder of a limit; nil means no limit.
func subtractUsed[N int | float64 | spec.Duration](limit *N, used N) *N {
	if limit == nil {
		return nil
	}
	return new(*limit - used)
}

// DurationError returns the error of a turn whose time is up.
func (m *Meter) DurationError() error {
	for ; m != nil; m = m.parent {
		if limit, used := m.budgets.MaxDuration, m.Spent().Duration; limit != nil && used >= limit.Std() {
			return &BudgetError{Budget: BudgetDuration, Limit: limit.Std().Seconds(), Used: used.Seconds()}
		}
	}
	return nil
}

// BeginModelCall counts a model call, or returns a *BudgetError if no more are
// allowed.
func (m *Meter) BeginModelCall() error {
	return m.countCall(BudgetModelCalls, func(m *Meter) (used *int, limit *int) { return &m.spent.ModelCalls, m.budgets.MaxModelCalls })
}

// BeginToolCall counts a tool call, or returns a *BudgetError if no more are
// allowed.
func (m *Meter) BeginToolCall() error {
	return m.countCall(BudgetToolCalls, func(m *Meter) (used *int, limit *int) { return &m.spent.ToolCalls, m.budgets.MaxToolCalls })
}

// countCall adds one call at every level if all levels allow it.
func (m *Meter) countCall(what string, field func(*Meter) (used, limit *int)) error {
	for at := m; at != nil; at = at.parent {
		at.mu.Lock()
		used, limit := field(at)
		if limit != nil && *used >= *limit {
			err := &BudgetError{Budget: what, Limit: float64(*limit), Used: float64(*used)}
			at.mu.Unlock()
			m.giveBack(at, field)
			return err
		}
		*used++
		at.mu.Unlock()
	}
	return nil
}

// giveBack undoes the count of a call at the levels below end.
func (m *Meter) giveBack(end *Meter, field func(*Meter) (used, limit *int)) {
	for at := m; at != end; at = at.parent {
		at.mu.Lock()
		used, _ := field(at)
		*used--
		at.mu.Unlock()
	}
}

// Spend adds the usage and cost of a model call.
func (m *Meter) Spend(usage model.Usage, cost float64) {
	for ; m != nil; m = m.parent {
		m.mu.Lock()
		m.spent.Tokens += usage.Total()
		m.spent.Cost += cost
		m.mu.Unlock()
	}
}

// Exceeded returns a *BudgetError if the turn spent more tokens or money than allowed.
func (m *Meter) Exceeded() error {
	for ; m != nil; m = m.parent {
		s := m.Spent()
		if limit := m.budgets.MaxTokens; limit != nil && s.Tokens > *limit {
			return &BudgetError{Budget: BudgetTokens, Limit: float64(*limit), Used: float64(s.Tokens)}
		}
		if limit := m.budgets.MaxCost; limit != nil && s.Cost > *limit {
			return &BudgetError{Budget: BudgetCost, Limit: *limit, Used: s.Cost}
		}
	}
	return nil
}

// Price returns the cost of tokens.
func Price(p *spec.Pricing, usage model.Usage) float64 {
	if p == nil {
		return 0
	}
	const million = 1e6
	cached := p.InputPerMillion
	if p.CachedInputPerMillion != nil {
		cached = *p.CachedInputPerMillion
	}
	fresh := max(usage.Input-usage.CacheRead, 0)
	return (float64(fresh)*p.InputPerMillion + float64(usage.CacheRead)*cached + float64(usage.Output)*p.OutputPerMillion) / million
}
