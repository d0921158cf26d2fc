package sqlstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

const (
	usageKey    = "hour, tenant, agent_id, model_id, currency, bucket, shard"
	usageCounts = "turns, failed, canceled, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost"
)

// insertUsage adds counts to a row of usage.
var insertUsage = func() string {
	var adds []string
	for _, name := range strings.Split(usageCounts, ", ") {
		adds = append(adds, name+" = usage_hours."+name+" + excluded."+name)
	}
	return "INSERT INTO usage_hours (" + usageKey + ", " + usageCounts + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)" +
		" ON CONFLICT (" + usageKey + ") DO UPDATE SET " + strings.Join(adds, ", ")
}()

// AddUsage counts an ended turn. It is the last statement of its transaction because other
// transactions wait for the rows.
func (r *turnRecords) AddUsage(ctx context.Context, s Session, t *rules.EndedTurn) error {
	rows := t.Rows()
	for i := range rows {
		c := &rows[i]
		_, err := s.Exec(ctx, insertUsage, c.Hour, c.Tenant, c.AgentID, c.ModelID, c.Currency, int64(c.Bucket), int64(r.db.Shard),
			c.Turns, c.Failed, c.Canceled, int64(c.Usage.Input), int64(c.Usage.Output), int64(c.Usage.CacheRead), int64(c.Usage.CacheWrite), int64(c.Usage.Reasoning), c.Cost)
		if err != nil {
			return err
		}
	}
	return nil
}

// usageRow is a group with its hour as stored.
type usageRow struct {
	store.UsageGroup
	hour int64
}

func usageFields(r *usageRow) []any {
	list := []any{
		&r.hour, &r.Tenant, &r.AgentID, &r.ModelID, &r.Currency, &r.Turns, &r.Failed, &r.Canceled,
		&r.Usage.Input, &r.Usage.Output, &r.Usage.CacheRead, &r.Usage.CacheWrite, &r.Usage.Reasoning, &r.Cost,
	}
	for i := range r.Latency {
		list = append(list, &r.Latency[i])
	}
	return list
}

// usageColumns are the sums of a group, in the order of usageFields.
var usageColumns = func() string {
	var sums []string
	for _, name := range strings.Split(usageCounts, ", ") {
		kind := "bigint"
		if name == "cost" {
			kind = "double precision"
		}
		sums = append(sums, "CAST(sum("+name+") AS "+kind+")")
	}
	for i := range len(store.LatencyBounds) + 1 {
		sums = append(sums, "CAST(sum(CASE bucket WHEN "+strconv.Itoa(i)+" THEN turns ELSE 0 END) AS bigint)")
	}
	return strings.Join(sums, ", ")
}()

// Usage returns groups of usage.
func (r *turnRecords) Usage(ctx context.Context, q store.UsageQuery) (list []*store.UsageGroup, err error) {
	var columns, groups []string
	for _, c := range []struct {
		name, none string
		grouped    bool
	}{{"hour", "0", q.By.Has(store.UsageByHour)}, {"tenant", "''", q.By.Has(store.UsageByTenant)}, {"agent_id", "''", q.By.Has(store.UsageByAgent)}, {"model_id", "''", q.By.Has(store.UsageByModel)}, {"currency", "", true}} {
		if c.grouped {
			columns, groups = append(columns, c.name), append(groups, c.name)
		} else {
			columns = append(columns, c.none)
		}
	}
	f := r.dialect.newFilter("SELECT " + strings.Join(columns, ", ") + ", " + usageColumns + " FROM usage_hours")
	f.where("hour >= " + f.Arg(rules.HourOf(q.From)))
	f.where("hour < " + f.Arg(rules.HourOf(q.To)))
	f.equals("tenant", q.Tenant)
	f.equals("agent_id", q.AgentID)
	f.equals("model_id", q.ModelID)
	by := strings.Join(groups, ", ")
	rows, err := CollectRecords(ctx, r.db.Reader, usageFields, f.statement("GROUP BY "+by+" ORDER BY "+by+" "+f.limit(q.Limit)), f.args...)
	if err != nil {
		return nil, r.db.WrapError("read the usage of tenant", q.Tenant, err)
	}
	for _, row := range rows {
		if q.By.Has(store.UsageByHour) {
			row.Hour = time.Unix(row.hour*3600, 0).UTC()
		}
		list = append(list, &row.UsageGroup)
	}
	return list, nil
}

// pruneUsage deletes the usage of old hours.
func (r *turnRecords) pruneUsage(ctx context.Context, c rules.Cutoff) (int, error) {
	n, err := r.exec(ctx, "DELETE FROM usage_hours WHERE ("+usageKey+") IN (SELECT "+Qualify("u", usageKey)+
		" FROM usage_hours u WHERE u.hour < $1 ORDER BY u.hour LIMIT $2)", rules.HourOf(c.Before), int64(c.Limit))
	return int(n), r.db.WrapError("delete old", "usage", err)
}
