package sqlite

import (
	"context"
	"strings"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Turns returns a page of turns.
func (s *Store) Turns(ctx context.Context, q store.TurnQuery) (out store.TurnPage, err error) {
	f := &filter{query: turnColumns}
	f.scope(q.Scope)
	f.equals("session_id", q.SessionID)
	f.equals("agent_id", q.AgentID)
	f.statuses(q.Statuses)
	if !q.ChangedAfter.IsZero() {
		f.where("changed_at >= ?", micros(q.ChangedAfter))
	}
	if q.Count {
		if out.Total, err = f.count(ctx, s.read, "turns"); err != nil {
			return out, wrap("count turns of session", q.SessionID, err)
		}
	}
	column, place := "created_at", func(r *db.Turn) (int64, string) { return r.CreatedAt, r.ID }
	if q.ByChange {
		column, place = "changed_at", func(r *db.Turn) (int64, string) { return r.ChangedAt, r.ID }
	}
	rows, next, err := latest(ctx, s.read, f, column, q.Page, turnFields, place)
	if err != nil {
		return store.TurnPage{}, wrap("list turns of session", q.SessionID, err)
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
	messages, pruned, request, result, metadata, changed_at FROM turns`

func turnFields(r *db.Turn) []any {
	return []any{
		&r.Made, &r.ID, &r.SessionID, &r.Tenant, &r.Subject, &r.AgentID, &r.Status, &r.Background, &r.SnapshotID, &r.ParentSnapshotID, &r.FromStart,
		&r.CreatedAt, &r.UpdatedAt, &r.NotBefore, &r.StartedAt, &r.FinishedAt, &r.Worker, &r.Fence, &r.LeaseUntil, &r.HeartbeatAt, &r.Admitted,
		&r.Strikes, &r.Seq, &r.Steps, &r.Messages, &r.Pruned, &r.Request, &r.Result, &r.Metadata, &r.ChangedAt,
	}
}
