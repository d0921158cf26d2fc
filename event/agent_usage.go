package event

import "slices"

// AgentUsage is what one agent used in a turn, its delegates not included.
type AgentUsage struct {
	Agent string `json:"agent"`
	// ToolCalls counts the calls that the agent began. Those of an agent that runs
	// elsewhere are not known.
	ToolCalls int   `json:"tool_calls,omitempty"`
	Usage     Usage `json:"usage,omitzero"`
	// Cost is what its model calls cost; nil when no model has a price.
	Cost *Cost `json:"cost,omitempty"`
}

// AgentUsages lists what each agent used. An agent whose models have prices in
// several currencies has an entry for each of them.
type AgentUsages []AgentUsage

// Add adds what an agent used. Entries that others hold are not changed through
// their Cost.
func (l *AgentUsages) Add(u AgentUsage) {
	i := l.indexOf(&u)
	if i < 0 {
		*l = append(*l, u)
		return
	}
	at := &(*l)[i]
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

// Since returns what was used after an earlier list was made, without the entries
// that have not changed.
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

// ToolCalls returns how many calls all agents began.
func (l AgentUsages) ToolCalls() (n int) {
	for i := range l {
		n += l[i].ToolCalls
	}
	return n
}

// indexOf returns the index of the entry that u adds to, or -1.
func (l AgentUsages) indexOf(u *AgentUsage) int {
	return slices.IndexFunc(l, func(at AgentUsage) bool {
		return at.Agent == u.Agent && (at.Cost == nil || u.Cost == nil || at.Cost.Currency == u.Cost.Currency)
	})
}
