package memory

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// Usage returns groups of usage.
func (m *Store) Usage(ctx context.Context, q store.UsageQuery) (list []*store.UsageGroup, err error) {
	from, to := rules.HourOf(q.From), rules.HourOf(q.To)
	err = m.withLock(ctx, func() error {
		groups := make(map[rules.UsageKey]*store.UsageGroup)
		keys := make(rules.UsageTable)
		for key, counts := range m.usage {
			if key.Hour < from || key.Hour >= to || q.Tenant != "" && q.Tenant != key.Tenant ||
				q.AgentID != "" && q.AgentID != key.AgentID || q.ModelID != "" && q.ModelID != key.ModelID {
				continue
			}
			at := groupKey(&q, key)
			g := groups[at]
			if g == nil {
				g = &store.UsageGroup{Tenant: at.Tenant, AgentID: at.AgentID, ModelID: at.ModelID, Currency: at.Currency}
				if q.By.Has(store.UsageByHour) {
					g.Hour = time.Unix(at.Hour*3600, 0).UTC()
				}
				groups[at], keys[at] = g, counts
			}
			g.Add(counts)
			if key.Bucket != rules.NoBucket {
				g.Latency[key.Bucket] += counts.Turns
			}
		}
		for _, key := range keys.Sorted() {
			if len(list) < q.Limit {
				list = append(list, groups[key])
			}
		}
		return nil
	})
	return list, err
}

// groupKey returns the fields of a row that a query groups by.
func groupKey(q *store.UsageQuery, key rules.UsageKey) rules.UsageKey {
	key.Bucket = 0
	if !q.By.Has(store.UsageByHour) {
		key.Hour = 0
	}
	if !q.By.Has(store.UsageByTenant) {
		key.Tenant = ""
	}
	if !q.By.Has(store.UsageByAgent) {
		key.AgentID = ""
	}
	if !q.By.Has(store.UsageByModel) {
		key.ModelID = ""
	}
	return key
}

// pruneUsage forgets the usage of old hours.
func (m *Store) pruneUsage(_ context.Context, c rules.Cutoff) (n int, err error) {
	for key := range m.usage {
		if key.Hour < rules.HourOf(c.Before) && n < c.Limit {
			delete(m.usage, key)
			n++
		}
	}
	return n, nil
}
