package event

import "slices"

// AgentUsage is the usage of one agent with one model in a turn, its delegates not included.
type AgentUsage struct {
	Agent string `json:"agent"`
	// ModelID is the model that answered; empty for agents that run elsewhere or called no model.
	ModelID string `json:"model_id,omitempty"`
	// ToolCalls counts the calls that the agent started. It is unknown for agents that run
	// elsewhere.
	ToolCalls int   `json:"tool_calls,omitempty"`
	Usage     Usage `json:"usage,omitzero"`
	// Cost is the cost of the agent's model calls; nil if no model has a price.
	Cost *Cost `json:"cost,omitempty"`
}

// Currency returns the currency of the cost, or "" without a price.
func (u *AgentUsage) Currency() string {
	if u.Cost == nil {
		return ""
	}
	return u.Cost.Currency
}

// AgentUsages lists the usage of each agent. An agent that used several models has an entry for
// each of them.
type AgentUsages []AgentUsage

// Add adds an agent's usage. It does not modify a Cost shared with other lists.
func (l *AgentUsages) Add(u AgentUsage) {
	i := l.indexOf(&u)
	if i < 0 {
		*l = append(*l, u)
		return
	}
	at := &(*l)[i]
	if at.ModelID == "" {
		at.ModelID = u.ModelID
	}
	at.ToolCalls += u.ToolCalls
	at.Usage.Add(u.Usage)
	switch {
	case u.Cost == nil:
	case at.Cost == nil:
		at.Cost = u.Cost
	default:
		at.Cost = &Cost{Amount: at.Cost.Amount + u.Cost.Amount, Currency: at.Cost.Currency}
	}
}

// Since returns the usage since an earlier list, without unchanged entries.
func (l AgentUsages) Since(before AgentUsages) AgentUsages {
	since := slices.Clone(l)
	for _, u := range before {
		i := since.indexOf(&u)
		if i < 0 {
			continue
		}
		at := &since[i]
		at.ToolCalls -= u.ToolCalls
		at.Usage.Sub(u.Usage)
		if at.Cost != nil && u.Cost != nil {
			at.Cost = &Cost{Amount: at.Cost.Amount - u.Cost.Amount, Currency: at.Cost.Currency}
		}
	}
	return slices.DeleteFunc(since, func(u AgentUsage) bool {
		return u.ToolCalls == 0 && u.Usage == Usage{} && (u.Cost == nil || u.Cost.Amount == 0)
	})
}

// ToolCalls returns the number of calls begun by all agents.
func (l AgentUsages) ToolCalls() (n int) {
	for i := range l {
		n += l[i].ToolCalls
	}
	return n
}

// indexOf returns the index of the entry that u adds to, or -1.
func (l AgentUsages) indexOf(u *AgentUsage) int {
	return slices.IndexFunc(l, func(at AgentUsage) bool {
		return at.Agent == u.Agent && (at.ModelID == "" || u.ModelID == "" || at.ModelID == u.ModelID) &&
			(at.Cost == nil || u.Cost == nil || at.Cost.Currency == u.Cost.Currency)
	})
}
