package sqlite

import (
	"context"
	"strings"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// filter is a query whose conditions vary.
type filter struct {
	// query is a SELECT without conditions.
	query string
	conds []string
	args  []any
}

// where adds a condition with its arguments.
func (f *filter) where(cond string, args ...any) {
	f.conds = append(f.conds, cond)
	f.args = append(f.args, args...)
}

// equals restricts a column to a value, unless that is empty.
func (f *filter) equals(column, value string) {
	if value != "" {
		f.where(column+" = ?", value)
	}
}

// scope restricts the records to those that a scope sees.
func (f *filter) scope(s store.Scope) {
	if !s.All {
		f.where("tenant = ? AND subject = ?", s.Owner.Tenant, s.Owner.Subject)
	}
}

// text returns the query with its conditions, and what follows them.
func (f *filter) text(rest string) string {
	text := f.query
	if len(f.conds) > 0 {
		text += " WHERE " + strings.Join(f.conds, " AND ")
	}
	return text + " " + rest
}

// collect returns the rows of a query. fields returns where the columns of a row
// go.
func collect[T any](ctx context.Context, on db.DBTX, query string, args []any, fields func(*T) []any) (list []T, err error) {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err says what went wrong
	for rows.Next() {
		var row T
		if err := rows.Scan(fields(&row)...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// latest returns a page of the rows that a filter lets through, those with the
// latest time first, and where the next page begins.
func latest[T any](ctx context.Context, on db.DBTX, f *filter, column string, p store.Page, fields func(*T) []any, place func(*T) (int64, string)) (rows []T, next string, err error) {
	after, err := p.Cursor()
	if err != nil {
		return nil, "", err
	}
	if after != nil {
		f.where("("+column+", id) < (?, ?)", micros(after.Time), after.ID)
	}
	size := p.Size()
	rows, err = collect(ctx, on, f.text("ORDER BY "+column+" DESC, id DESC LIMIT ?"), append(f.args, size+1), fields)
	if err != nil || len(rows) <= size {
		return rows, "", err
	}
	rows = rows[:size]
	at, id := place(&rows[size-1])
	return rows, store.Cursor{Time: instant(at), ID: id}.String(), nil
}

// Sessions returns a page of sessions.
func (s *Store) Sessions(ctx context.Context, q store.SessionQuery) (out store.SessionPage, err error) {
	f := &filter{query: "SELECT id, tenant, subject, agent_id, state, labels, metadata, tip, created_at, updated_at, active_at, last_turn_at FROM sessions"}
	f.scope(q.Scope)
	f.equals("state", string(q.State))
	f.equals("agent_id", q.AgentID)
	for key, value := range q.Labels {
		f.where("id IN (SELECT session_id FROM session_labels WHERE key = ? AND value = ?)", key, value)
	}
	rows, next, err := latest(ctx, s.read, f, "active_at", q.Page, func(r *db.Session) []any {
		return []any{&r.ID, &r.Tenant, &r.Subject, &r.AgentID, &r.State, &r.Labels, &r.Metadata, &r.Tip, &r.CreatedAt, &r.UpdatedAt, &r.ActiveAt, &r.LastTurnAt}
	}, func(r *db.Session) (int64, string) { return r.ActiveAt, r.ID })
	if err != nil {
		return out, wrap("list sessions of", q.Scope.Owner.Subject, err)
	}
	out.Next = next
	for i := range rows {
		session, err := sessionOf(&rows[i])
		if err != nil {
			return store.SessionPage{}, err
		}
		out.Sessions = append(out.Sessions, session)
	}
	return out, nil
}

// Turns returns a page of turns.
func (s *Store) Turns(ctx context.Context, q store.TurnQuery) (out store.TurnPage, err error) {
	f := &filter{query: turnColumns}
	f.scope(q.Scope)
	f.equals("session_id", q.SessionID)
	f.equals("agent_id", q.AgentID)
	f.statuses(q.Statuses)
	rows, next, err := latest(ctx, s.read, f, "created_at", q.Page, turnFields, func(r *db.Turn) (int64, string) { return r.CreatedAt, r.ID })
	if err != nil {
		return out, wrap("list turns of session", q.SessionID, err)
	}
	out.Next = next
	for i := range rows {
		out.Turns = append(out.Turns, turnOf(&rows[i]))
	}
	return out, nil
}

// statuses restricts turns to some statuses.
func (f *filter) statuses(list []store.Status) {
	if len(list) == 0 {
		return
	}
	args, live := make([]any, len(list)), true
	for i, status := range list {
		args[i], live = string(status), live && status.Live()
	}
	f.where("status IN (?"+strings.Repeat(", ?", len(list)-1)+")", args...)
	if live {
		f.where("finished_at = 0") // as the indexes have it
	}
}

const turnColumns = `SELECT made, id, session_id, tenant, subject, agent_id, status, background, snapshot_id, parent_snapshot_id, from_start,
	created_at, updated_at, not_before, started_at, finished_at, worker, fence, lease_until, heartbeat_at, admitted, strikes, seq, steps,
	messages, pruned, request, result, metadata FROM turns`

func turnFields(r *db.Turn) []any {
	return []any{
		&r.Made, &r.ID, &r.SessionID, &r.Tenant, &r.Subject, &r.AgentID, &r.Status, &r.Background, &r.SnapshotID, &r.ParentSnapshotID, &r.FromStart,
		&r.CreatedAt, &r.UpdatedAt, &r.NotBefore, &r.StartedAt, &r.FinishedAt, &r.Worker, &r.Fence, &r.LeaseUntil, &r.HeartbeatAt, &r.Admitted,
		&r.Strikes, &r.Seq, &r.Steps, &r.Messages, &r.Pruned, &r.Request, &r.Result, &r.Metadata,
	}
}
