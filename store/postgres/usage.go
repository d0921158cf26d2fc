package postgres

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
)

// usageShards is how many rows hold the usage of the same turns. Each process writes one of them,
// so that few processes wait for each other.
const usageShards = 16

// queueUsage queues the counts of ended turns. It comes last because other processes may wait for
// the rows.
func (g *group) queueUsage(ctx context.Context, q *db.Queries, changed []*turnChange) error {
	table := make(rules.UsageTable)
	for _, t := range changed {
		if t.finish != nil {
			table.AddTurn(&rules.EndedTurn{
				Tenant: t.Tenant, AgentID: t.AgentID, Status: store.Status(t.Status), StartedAt: time.Time(t.StartedAt), EndedAt: t.at, Agents: t.finish.Agents,
			})
		}
	}
	if len(table) == 0 {
		return nil
	}
	rows := db.AddUsageParams{Shard: int64(g.store.usageShard)}
	for _, key := range table.Sorted() {
		c := table[key]
		rows.Hours, rows.Tenants, rows.AgentIds = append(rows.Hours, key.Hour), append(rows.Tenants, key.Tenant), append(rows.AgentIds, key.AgentID)
		rows.ModelIds, rows.Currencies, rows.Buckets = append(rows.ModelIds, key.ModelID), append(rows.Currencies, key.Currency), append(rows.Buckets, int64(key.Bucket))
		rows.Turns, rows.Failed, rows.Canceled = append(rows.Turns, c.Turns), append(rows.Failed, c.Failed), append(rows.Canceled, c.Canceled)
		rows.InputTokens, rows.OutputTokens = append(rows.InputTokens, int64(c.Usage.Input)), append(rows.OutputTokens, int64(c.Usage.Output))
		rows.CacheReadTokens, rows.CacheWriteTokens = append(rows.CacheReadTokens, int64(c.Usage.CacheRead)), append(rows.CacheWriteTokens, int64(c.Usage.CacheWrite))
		rows.ReasoningTokens, rows.Costs = append(rows.ReasoningTokens, int64(c.Usage.Reasoning)), append(rows.Costs, c.Cost)
	}
	return q.AddUsage(ctx, rows)
}
