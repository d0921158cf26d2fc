package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// maxUsageGroups limits the groups of usage that one request may read.
const maxUsageGroups = 10_000

type (
	// UsageQuery selects usage.
	UsageQuery = store.UsageQuery
	// UsageField is a set of fields by which usage is grouped.
	UsageField = store.UsageField
)

// The values of UsageField.
const (
	UsageByHour   = store.UsageByHour
	UsageByTenant = store.UsageByTenant
	UsageByAgent  = store.UsageByAgent
	UsageByModel  = store.UsageByModel
)

// UsageTotal is the usage of the turns with equal values of the query's grouping fields.
type UsageTotal struct {
	Hour                     time.Time
	Tenant, AgentID, ModelID string
	// Turns counts the ended turns, and Failed and Canceled those that ended this way.
	Turns, Failed, Canceled int64
	Usage                   event.Usage
	// Costs has one sum per currency.
	Costs   []event.Cost
	latency [len(store.LatencyBounds) + 1]int64
}

// ReadUsage returns usage by hour, then largest first. Callers other than the operator see their
// own tenant, and callers that may not use all agents see nothing. From and To are widened to whole
// hours. It returns an *InvalidError for an empty time range or too many groups.
func (s *Turns) ReadUsage(ctx context.Context, caller Caller, q UsageQuery) ([]UsageTotal, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	if !q.From.Before(q.To) {
		return nil, &InvalidError{"from", "must be before to"}
	}
	if caller.Agents != nil || !scope.All && q.Tenant != "" && q.Tenant != scope.Owner.Tenant {
		return nil, nil
	}
	if !scope.All {
		q.Tenant = scope.Owner.Tenant
	}
	q.From, q.To, q.Limit = q.From.Truncate(time.Hour), q.To.Add(time.Hour-1).Truncate(time.Hour), maxUsageGroups+1
	groups, err := s.settings.Store.Usage(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(groups) > maxUsageGroups {
		return nil, &InvalidError{"group_by", fmt.Sprintf("there are more than %d groups; choose a shorter time, an agent or a model", maxUsageGroups)}
	}
	totals := mergeCurrencies(groups)
	slices.SortStableFunc(totals, func(a, b UsageTotal) int {
		return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(b.Usage.Total(), a.Usage.Total()), cmp.Compare(b.Turns, a.Turns))
	})
	return totals, nil
}

// mergeCurrencies merges groups that differ only in their currency, in their order.
func mergeCurrencies(groups []*store.UsageGroup) (totals []UsageTotal) {
	type key struct {
		hour                 int64
		tenant, agent, model string
	}
	known := make(map[key]int, len(groups))
	for _, g := range groups {
		k := key{g.Hour.Unix(), g.Tenant, g.AgentID, g.ModelID}
		i, ok := known[k]
		if !ok {
			i = len(totals)
			known[k], totals = i, append(totals, UsageTotal{Hour: g.Hour, Tenant: g.Tenant, AgentID: g.AgentID, ModelID: g.ModelID})
		}
		t := &totals[i]
		t.Turns, t.Failed, t.Canceled = t.Turns+g.Turns, t.Failed+g.Failed, t.Canceled+g.Canceled
		t.Usage.Add(g.Usage)
		if g.Currency != "" {
			t.Costs = append(t.Costs, event.Cost{Amount: g.Cost, Currency: g.Currency})
		}
		for bucket, n := range g.Latency {
			t.latency[bucket] += n
		}
	}
	return totals
}

// Percentile estimates the duration that a share of the started turns, from 0 to 1, did not exceed.
// It is at most the largest of store.LatencyBounds; ok is false without such turns.
func (t *UsageTotal) Percentile(share float64) (took time.Duration, ok bool) {
	var all int64
	for _, n := range t.latency {
		all += n
	}
	if all == 0 {
		return 0, false
	}
	rank, lower := share*float64(all), time.Duration(0)
	for i, upper := range store.LatencyBounds {
		n := float64(t.latency[i])
		if n > 0 && rank <= n {
			return lower + time.Duration(rank/n*float64(upper-lower)), true
		}
		rank, lower = rank-n, upper
	}
	return lower, true
}
