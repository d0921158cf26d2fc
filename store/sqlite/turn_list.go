package sqlite

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Turns returns a page of turns.
func (s *Store) Turns(ctx context.Context, q store.TurnQuery) (out store.TurnPage, err error) {
	f := dialect.Select(turnColumns)
	f.Turns(&q)
	if len(q.Statuses) > 0 && !slices.ContainsFunc(q.Statuses, func(s store.Status) bool { return !s.Live() }) {
		f.Where("finished_at = 0") // as the indexes have it
	}
	if q.Count {
		query, args := f.Count("turns")
		if err = s.read.QueryRowContext(ctx, query, args...).Scan(&out.Total); err != nil {
			return out, wrapError("count turns of session", q.SessionID, err)
		}
	}
	out.Turns, out.Next, err = sqlstore.Latest(f, sqlstore.TurnColumn(&q), q.Page, rules.TurnCursor(&q), readRecords(ctx, s.read, turnFields, turnOf))
	if err != nil {
		return store.TurnPage{}, wrapError("list turns of session", q.SessionID, err)
	}
	return out, nil
}

const turnColumns = `SELECT made, id, session_id, tenant, subject, agent_id, status, background, snapshot_id, parent_snapshot_id, from_start,
	created_at, updated_at, not_before, started_at, finished_at, worker, fence, lease_until, heartbeat_at, admitted, strikes, seq, steps,
	messages, pruned, request, result, metadata, changed_at, revision FROM turns`

func turnFields(r *db.Turn) []any {
	return []any{
		&r.Made, &r.ID, &r.SessionID, &r.Tenant, &r.Subject, &r.AgentID, &r.Status, &r.Background, &r.SnapshotID, &r.ParentSnapshotID, &r.FromStart,
		&r.CreatedAt, &r.UpdatedAt, &r.NotBefore, &r.StartedAt, &r.FinishedAt, &r.Worker, &r.Fence, &r.LeaseUntil, &r.HeartbeatAt, &r.Admitted,
		&r.Strikes, &r.Seq, &r.Steps, &r.Messages, &r.Pruned, &r.Request, &r.Result, &r.Metadata, &r.ChangedAt, &r.Revision,
	}
}
