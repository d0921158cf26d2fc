package native

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
)

// Query parameters of usage.
const (
	queryFrom    = "from"
	queryTo      = "to"
	queryTenant  = "tenant"
	queryModel   = "model_id"
	queryGroupBy = "group_by"
)

const (
	defaultUsageSpan = 24 * time.Hour
	defaultUsage     = 1000
	maxUsage         = 10_000
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
	// Total counts the groups, including those left out by the limit.
	Total int `json:"total"`
}

// usageGroup is the usage of some turns.
type usageGroup struct {
	Hour     time.Time     `json:"hour,omitzero"`
	Tenant   string        `json:"tenant,omitempty"`
	AgentID  string        `json:"agent_id,omitempty"`
	ModelID  string        `json:"model_id,omitempty"`
	Turns    int64         `json:"turns"`
	Failed   int64         `json:"failed"`
	Canceled int64         `json:"canceled"`
	Usage    event.Usage   `json:"usage"`
	Costs    []event.Cost  `json:"costs,omitempty"`
	Latency  *usageLatency `json:"latency,omitempty"`
}

// usageLatency estimates the durations of turns, in milliseconds.
type usageLatency struct {
	P50 int64 `json:"p50_ms"`
	P95 int64 `json:"p95_ms"`
	P99 int64 `json:"p99_ms"`
}

// readUsage responds with the usage of ended turns.
func (c *call) readUsage() error {
	q := queryOf(c.r, queryFrom, queryTo, queryTenant, queryAgent, queryModel, queryGroupBy, queryLimit)
	var by service.UsageField
	for _, name := range q.values[queryGroupBy] {
		by |= usageFields[oneOf(q, queryGroupBy, name, slices.Sorted(maps.Keys(usageFields))...)]
	}
	to := q.readTime(queryTo)
	if to.IsZero() {
		to = time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
	}
	from := q.readTime(queryFrom)
	if from.IsZero() {
		from = to.Add(-defaultUsageSpan)
	}
	limit := cmp.Or(q.pageLimit(maxUsage), defaultUsage)
	if q.err != nil {
		return q.err
	}
	totals, err := c.Service.ReadUsage(c.r.Context(), c.Caller, service.UsageQuery{
		From: from, To: to, Tenant: q.readText(queryTenant), AgentID: q.readText(queryAgent), ModelID: q.readText(queryModel),
		By: by,
	})
	list := usageList{From: from, To: to, Groups: make([]usageGroup, 0, min(limit, len(totals))), Total: len(totals)}
	for i := range totals[:min(limit, len(totals))] {
		list.Groups = append(list.Groups, usageGroupOf(&totals[i]))
	}
	return c.writeReply(http.StatusOK, &list, err)
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
