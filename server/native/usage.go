package native

import (
	"cmp"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
)

// usageQuery selects the turns that ended in a time range.
type usageQuery struct {
	From    time.Time `query:"from" jsonschema:"Start of the time range, rounded down to the hour. Defaults to 24 hours before to."`
	To      time.Time `query:"to" jsonschema:"End of the time range, rounded up to the hour. Defaults to now."`
	Tenant  string    `query:"tenant"`
	AgentID string    `query:"agent_id"`
	ModelID string    `query:"model_id"`
	GroupBy []string  `query:"group_by" enum:"agent,hour,model,tenant" jsonschema:"Fields to group by. Without them, there is one group."`
	Limit   int       `query:"limit" minimum:"1" maximum:"10000" default:"1000" jsonschema:"Maximum number of groups."`
}

const (
	defaultUsageSpan = 24 * time.Hour
	defaultUsage     = 1000
)

// usageFields are the fields by which usage can be grouped.
var usageFields = map[string]service.UsageField{
	"hour": service.UsageByHour, "tenant": service.UsageByTenant, "agent": service.UsageByAgent, "model": service.UsageByModel,
}

// usageList is the usage of the turns that ended in a time range.
type usageList struct {
	From   time.Time    `json:"from"`
	To     time.Time    `json:"to"`
	Groups []usageGroup `json:"groups"`
	Total  int          `json:"total" jsonschema:"Number of groups, including those omitted by the limit."`
}

// usageGroup is the usage of some turns.
type usageGroup struct {
	Hour     time.Time     `json:"hour,omitzero"`
	Tenant   string        `json:"tenant,omitempty"`
	AgentID  string        `json:"agent_id,omitempty"`
	ModelID  string        `json:"model_id,omitempty" jsonschema:"Absent for turns without a model call."`
	Turns    int64         `json:"turns" jsonschema:"Number of turns that ended."`
	Failed   int64         `json:"failed" jsonschema:"Number of turns that failed."`
	Canceled int64         `json:"canceled" jsonschema:"Number of turns that were canceled."`
	Usage    event.Usage   `json:"usage"`
	Costs    []event.Cost  `json:"costs,omitempty" jsonschema:"One sum per currency."`
	Latency  *usageLatency `json:"latency,omitempty" jsonschema:"Estimated durations of turns from start to end. Absent if no turn was started."`
}

// usageLatency estimates the durations of turns, in milliseconds.
type usageLatency struct {
	P50 int64 `json:"p50_ms"`
	P95 int64 `json:"p95_ms"`
	P99 int64 `json:"p99_ms"`
}

// readUsage returns the usage of ended turns.
func (l *Local) readUsage(ctx context.Context, q usageQuery) (*usageList, error) {
	var by service.UsageField
	for _, name := range q.GroupBy {
		by |= usageFields[name]
	}
	if q.To.IsZero() {
		q.To = time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-defaultUsageSpan)
	}
	totals, err := l.Service.ReadUsage(ctx, l.Caller, service.UsageQuery{
		From: q.From, To: q.To, Tenant: q.Tenant, AgentID: q.AgentID, ModelID: q.ModelID, By: by,
	})
	shown := totals[:min(cmp.Or(q.Limit, defaultUsage), len(totals))]
	list := &usageList{From: q.From, To: q.To, Groups: make([]usageGroup, 0, len(shown)), Total: len(totals)}
	for i := range shown {
		list.Groups = append(list.Groups, usageGroupOf(&shown[i]))
	}
	return list, err
}

func usageGroupOf(t *service.UsageTotal) usageGroup {
	g := usageGroup{
		Hour: t.Hour, Tenant: t.Tenant, AgentID: t.AgentID, ModelID: t.ModelID,
		Turns: t.Turns, Failed: t.Failed, Canceled: t.Canceled, Usage: t.Usage, Costs: t.Costs,
	}
	if p50, ok := t.Percentile(0.5); ok {
		p95, _ := t.Percentile(0.95)
		p99, _ := t.Percentile(0.99)
		g.Latency = &usageLatency{P50: p50.Milliseconds(), P95: p95.Milliseconds(), P99: p99.Milliseconds()}
	}
	return g
}
