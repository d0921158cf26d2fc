package store

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// LatencyBounds are the upper bounds of the buckets for the durations of turns. The last bucket has
// no bound.
var LatencyBounds = [...]time.Duration{
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
}

// UsageCounts are sums over turns that have ended.
type UsageCounts struct {
	// Turns counts all turns, Failed and Canceled those with that outcome.
	Turns, Failed, Canceled int64
	Usage                   event.Usage
	// Cost is in the currency of the group.
	Cost float64
}

// Add adds other to c.
func (c *UsageCounts) Add(other *UsageCounts) {
	c.Turns += other.Turns
	c.Failed += other.Failed
	c.Canceled += other.Canceled
	c.Usage.Add(other.Usage)
	c.Cost += other.Cost
}

// UsageGroup is the usage of the turns with the same values of the fields that a query groups by.
// The other fields are empty. Usage in several currencies makes several groups.
type UsageGroup struct {
	Hour                               time.Time
	Tenant, AgentID, ModelID, Currency string
	UsageCounts
	// Latency counts the turns that started, by duration.
	Latency [len(LatencyBounds) + 1]int64
}

// UsageField is a set of the fields that usage is grouped by.
type UsageField uint8

// The fields that usage is grouped by.
const (
	UsageByHour UsageField = 1 << iota
	UsageByTenant
	UsageByAgent
	UsageByModel
)

// Has reports whether a set has a field.
func (f UsageField) Has(field UsageField) bool { return f&field != 0 }

// UsageQuery selects usage. Empty texts do not restrict it.
type UsageQuery struct {
	// From and To are whole hours. To is exclusive.
	From, To                 time.Time
	Tenant, AgentID, ModelID string
	// By has the fields to group by.
	By UsageField
	// Limit is the maximum number of groups.
	Limit int
}

// Usages is the part of a Store that keeps the usage of turns by hour, tenant, agent and model.
// Commit and EndTurn count a turn in the transaction that ends it: for its own agent, and for the
// model that this agent called first. Tokens and cost count for the agents and models that used
// them.
type Usages interface {
	// Usage returns groups, ordered by their fields.
	Usage(ctx context.Context, q UsageQuery) ([]*UsageGroup, error)
}
