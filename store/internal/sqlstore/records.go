package sqlstore

import (
	"github.com/agentruntime/agentruntime/store"
)

// Label restricts sessions to those that have a label.
func (f *Filter) Label(key, value string) {
	f.Where("EXISTS (SELECT 1 FROM session_labels o WHERE o.session_id = sessions.id AND o.key = " + f.Arg(key) + " AND o.value = " + f.Arg(value) + ")")
}

// Sessions restricts sessions to those that a query asks for, but for their
// labels.
func (f *Filter) Sessions(q *store.SessionQuery) {
	f.Scope(q.Scope)
	f.Equals("state", string(q.State))
	f.Equals("agent_id", q.AgentID)
}

// Snapshots restricts snapshots to those that a query asks for.
func (f *Filter) Snapshots(q *store.SnapshotQuery) {
	f.Where("session_id = " + f.Arg(q.SessionID))
	f.Scope(q.Scope)
}

// Turns restricts turns to those that a query asks for.
func (f *Filter) Turns(q *store.TurnQuery) {
	f.Scope(q.Scope)
	f.Equals("session_id", q.SessionID)
	f.Equals("agent_id", q.AgentID)
	if len(q.Statuses) > 0 {
		statuses := make([]string, len(q.Statuses))
		for i, status := range q.Statuses {
			statuses[i] = string(status)
		}
		f.Where(f.dialect.OneOf(f, "status", statuses))
	}
	if !q.ChangedAfter.IsZero() {
		f.Where("changed_at >= " + f.Time(q.ChangedAfter))
	}
}

// TurnColumn returns the column that the list of a query is ordered by.
func TurnColumn(q *store.TurnQuery) string {
	if q.ByChange {
		return "changed_at"
	}
	return "created_at"
}

// Interactions restricts interactions to those that a query asks for. A column
// that says no time must not be before all times.
func (f *Filter) Interactions(q *store.InteractionQuery) {
	f.Scope(q.Scope)
	f.Equals("turn_id", q.TurnID)
	f.Equals("session_id", q.SessionID)
	f.equalsLiteral("state", string(q.State), string(store.InteractionPending))
	if !q.ExpiredBy.IsZero() {
		f.Where("expires_at <= " + f.Time(q.ExpiredBy))
	}
}

// Webhooks restricts webhooks to those that a query asks for, but for their owner
// and turn, and to those with a number below before.
func (f *Filter) Webhooks(q *store.WebhookQuery, before int64) {
	f.Equals("surface", q.Surface)
	f.equalsLiteral("state", string(q.State), string(store.WebhookDead))
	f.Where("n < " + f.Arg(before))
}

// equalsLiteral is Equals, but writes one of the values into the statement: it is that
// of the condition of an index.
func (f *Filter) equalsLiteral(column, value, indexed string) {
	if value == indexed {
		f.Where(column + " = '" + indexed + "'")
		return
	}
	f.Equals(column, value)
}
