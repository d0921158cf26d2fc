package rules

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// noBucket is the bucket of counts without a duration.
const noBucket = -1

// UsageKey identifies a row of usage.
type UsageKey struct {
	// Hour counts hours since 1970.
	Hour                               int64
	Tenant, AgentID, ModelID, Currency string
	// Bucket is the index of the latency, or noBucket.
	Bucket int
}

// UsageTable holds rows of usage.
type UsageTable map[UsageKey]*store.UsageCounts

// EndedTurn is a turn that ends now.
type EndedTurn struct {
	Tenant, AgentID string
	Status          store.Status
	// StartedAt is zero for a turn that never started.
	StartedAt, EndedAt time.Time
	Agents             event.AgentUsages
}

// HourOf returns a time in hours since 1970.
func HourOf(t time.Time) int64 { return t.Unix() / 3600 }

// UsageRow holds counts to add to a row of usage.
type UsageRow struct {
	UsageKey
	store.UsageCounts
}

// Rows returns the counts of the turn, sorted by key.
func (t *EndedTurn) Rows() []UsageRow {
	key := UsageKey{Hour: HourOf(t.EndedAt), Tenant: t.Tenant, AgentID: t.AgentID, Bucket: bucketOf(t.StartedAt, t.EndedAt)}
	if len(t.Agents) > 0 {
		own := max(0, slices.IndexFunc(t.Agents, func(a event.AgentUsage) bool { return a.Agent == t.AgentID }))
		key.ModelID, key.Currency = t.Agents[own].ModelID, t.Agents[own].Currency()
	}
	rows := append(make([]UsageRow, 0, max(1, len(t.Agents))), UsageRow{key, store.UsageCounts{Turns: 1}})
	switch t.Status {
	case store.Failed:
		rows[0].Failed = 1
	case store.Canceled:
		rows[0].Canceled = 1
	}
	for i := range t.Agents {
		a := &t.Agents[i]
		used := store.UsageCounts{Usage: a.Usage}
		if a.Cost != nil {
			used.Cost = a.Cost.Amount
		}
		share := UsageKey{Hour: key.Hour, Tenant: t.Tenant, AgentID: a.Agent, ModelID: a.ModelID, Currency: a.Currency(), Bucket: key.Bucket}
		if share == key { // one row is enough for most turns
			rows[0].Add(&used)
		} else if share.Bucket = noBucket; used != (store.UsageCounts{}) {
			rows = append(rows, UsageRow{share, used})
		}
	}
	slices.SortFunc(rows, func(a, b UsageRow) int { return compareUsage(a.UsageKey, b.UsageKey) })
	return rows
}

// Add adds counts to a row.
func (u UsageTable) Add(r *UsageRow) {
	if row := u[r.UsageKey]; row != nil {
		row.Add(&r.UsageCounts)
		return
	}
	row := r.UsageCounts
	u[r.UsageKey] = &row
}

// AddTurn counts a turn.
func (u UsageTable) AddTurn(t *EndedTurn) {
	rows := t.Rows()
	for i := range rows {
		u.Add(&rows[i])
	}
}

// Sorted returns the keys of the rows in the order in which transactions write them, which avoids
// deadlocks.
func (u UsageTable) Sorted() []UsageKey { return slices.SortedFunc(maps.Keys(u), compareUsage) }

func compareUsage(a, b UsageKey) int {
	return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.AgentID, b.AgentID),
		cmp.Compare(a.ModelID, b.ModelID), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Bucket, b.Bucket))
}

// bucketOf returns the index of the bucket of a duration, noBucket for a turn that never started.
func bucketOf(from, to time.Time) int {
	if from.IsZero() {
		return noBucket
	}
	took := to.Sub(from)
	return sort.Search(len(store.LatencyBounds), func(i int) bool { return took <= store.LatencyBounds[i] })
}
