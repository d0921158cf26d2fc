package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// turnRecords keeps turns with their events, interactions, ratings and usage.
type turnRecords struct{ *core }

// TurnColumns are the columns of a turn, in the order of turnFields.
const TurnColumns = `id, session_id, tenant, subject, agent_id, status, request, result, metadata, background, snapshot_id, parent_snapshot_id, from_start, ` +
	`created_at, updated_at, changed_at, not_before, started_at, finished_at, worker, fence, lease_until, heartbeat_at, admitted, strikes, seq, steps, revision`

// turnFields returns the scan destinations of a turn.
func turnFields(t *store.Turn) []any { return AppendTurnFields(nil, t) }

// AppendTurnFields appends the scan destinations of a turn.
func AppendTurnFields(list []any, t *store.Turn) []any {
	return append(list,
		&t.ID, &t.SessionID, &t.Owner.Tenant, &t.Owner.Subject, &t.AgentID, (*string)(&t.Status),
		(*[]byte)(&t.Request), (*[]byte)(&t.Result), (*[]byte)(&t.Metadata), &t.Background, &t.SnapshotID, &t.ParentSnapshotID, &t.FromStart,
		(*Time)(&t.CreatedAt), (*Time)(&t.UpdatedAt), (*Time)(&t.ChangedAt), (*Time)(&t.NotBefore), (*Time)(&t.StartedAt), (*Time)(&t.FinishedAt),
		&t.Worker, &t.Fence, (*Time)(&t.LeaseUntil), (*Time)(&t.HeartbeatAt), &t.Admitted, &t.Strikes, &t.Seq, &t.Steps, &t.Revision)
}

// Turn returns a turn.
func (r *turnRecords) Turn(ctx context.Context, scope store.Scope, id string) (*store.Turn, error) {
	t, err := FindTurn(ctx, r.db.Reader, scope, id, "")
	return t, r.db.WrapError("read turn", id, err)
}

// FindTurn returns a turn that the scope sees. lock is appended to the query.
func FindTurn(ctx context.Context, s Session, scope store.Scope, id, lock string) (*store.Turn, error) {
	owner := func(t *store.Turn) *store.Owner { return &t.Owner }
	return findVisible(ctx, s, scope, owner, turnFields, "SELECT "+TurnColumns+" FROM turns WHERE id = $1"+lock, id)
}

// Positions returns the current positions of turns.
func (r *turnRecords) Positions(ctx context.Context, turnIDs []string) ([]store.Position, error) {
	var ids any = turnIDs
	query := "SELECT id, status, seq FROM turns WHERE id = ANY($1::text[])"
	if !r.dialect.concurrent {
		text, err := json.Marshal(turnIDs)
		if err != nil {
			return nil, err
		}
		ids, query = string(text), "SELECT id, status, seq FROM turns WHERE id IN (SELECT value FROM json_each($1))"
	}
	list, err := CollectRows(ctx, r.db.Reader, func(p *store.Position) []any { return []any{&p.TurnID, (*string)(&p.Status), &p.Seq} }, query, ids)
	return list, r.db.WrapError("read positions of", fmt.Sprintf("%d turns", len(turnIDs)), err)
}

// SessionAgents returns the agents for which turns of a session were created.
func (r *turnRecords) SessionAgents(ctx context.Context, sessionID string) ([]string, error) {
	agents, err := CollectColumn[string](ctx, r.db.Reader, "SELECT DISTINCT agent_id FROM turns WHERE session_id = $1", sessionID)
	return agents, r.db.WrapError("read the agents of session", sessionID, err)
}

// Turns returns a page of turns.
func (r *turnRecords) Turns(ctx context.Context, q store.TurnQuery) (page store.TurnPage, err error) {
	f, err := r.filterTurns(ctx, TurnColumns, &q)
	if err == nil && q.Count {
		var count *filter
		if count, err = r.filterTurns(ctx, "count(*)", &q); err == nil {
			page.Total, err = FindValue[int](ctx, r.db.Reader, count.statement(""), count.args...)
		}
	}
	if err != nil {
		return page, r.db.WrapError("filter turns of session", q.SessionID, err)
	}
	column := "created_at"
	if q.ByChange {
		column = "changed_at"
	}
	page.Turns, page.Next, err = readLatest(ctx, r.db.Reader, f, column, q.Page, turnFields, asTheyAre, rules.TurnCursor(&q))
	if err != nil {
		return store.TurnPage{}, r.db.WrapError("list turns of session", q.SessionID, err)
	}
	return page, nil
}

// filterTurns returns a statement that reads columns of the turns of a query.
func (r *turnRecords) filterTurns(ctx context.Context, columns string, q *store.TurnQuery) (*filter, error) {
	f, err := r.filterByLabels(ctx, columns, "turns", "session_id", q.Labels)
	if err != nil {
		return nil, err
	}
	f.Scope(q.Scope)
	f.equals("tenant", q.Tenant)
	f.equals("session_id", q.SessionID)
	agent := "agent_id"
	if len(q.Statuses) > 0 {
		statuses := make([]string, len(q.Statuses))
		for i, status := range q.Statuses {
			statuses[i] = string(status)
		}
		if len(statuses) == 1 {
			f.equals("status", statuses[0])
		} else {
			f.where(r.dialect.oneOf(f, "status", statuses))
		}
		switch status := q.Statuses[0]; { // as in the indexes
		case !slices.ContainsFunc(q.Statuses, func(s store.Status) bool { return !s.Live() }):
			f.where(r.dialect.live("turns"))
		case len(statuses) == 1 && !q.ByChange && (status == store.Failed || status == store.Canceled):
			f.where("status IN ('failed', 'canceled')")
			agent = r.dialect.unindexed + agent // the agent may have many other turns
		}
	}
	f.equals(agent, q.AgentID)
	if !q.ChangedAfter.IsZero() {
		f.where("changed_at >= " + f.Time(q.ChangedAfter))
	}
	return f, nil
}

// UpdateTurn applies a patch to a turn.
func (r *turnRecords) UpdateTurn(ctx context.Context, scope store.Scope, id string, p store.TurnPatch) (*store.Turn, error) {
	return transact(ctx, r.core, "change turn", id, func(ctx context.Context, s Session) (*store.Turn, error) {
		changed, err := FindTurn(ctx, s, scope, id, r.dialect.forUpdate)
		if err != nil || p.Background == nil {
			return changed, err
		}
		changed.Background, changed.UpdatedAt = *p.Background, Truncate(p.Now)
		_, err = s.Exec(ctx, "UPDATE turns SET background = $1, updated_at = $2 WHERE id = $3", changed.Background, Time(changed.UpdatedAt), id)
		return changed, err
	})
}

// LiveRevisions returns the revisions in which live turns and runs began.
func (r *turnRecords) LiveRevisions(ctx context.Context) ([]string, error) {
	found, err := CollectColumn[string](ctx, r.db.Reader, "SELECT t.revision FROM turns t WHERE "+r.dialect.live("t")+" AND t.revision <> ''"+
		" UNION SELECT w.revision FROM workflow_runs w WHERE w.finished_at = 0 AND w.revision <> ''")
	return found, r.db.WrapError("read the revisions of", "live turns", err)
}

// Events returns events of a turn.
func (r *turnRecords) Events(ctx context.Context, turnID string, after uint64, limit int) (list []event.Record, err error) {
	if limit <= 0 || after > math.MaxInt64 {
		return nil, nil
	}
	var row event.Record
	var path string
	into := []any{&row.Seq, &row.SessionID, (*Time)(&row.Time), (*string)(&row.Type), (*[]byte)(&row.Data), &path}
	err = r.db.Reader.Query(ctx, r.dialect.events+" AND e.seq > $2 ORDER BY e.seq LIMIT $3", []any{turnID, int64(after), int64(limit)},
		func(scan func(dest ...any) error) error {
			row.TurnID, row.Data = turnID, nil
			err := scan(into...)
			row.Path = event.ParsePath(path)
			list = append(list, row)
			return err
		})
	return list, r.db.WrapError("read the events of turn", turnID, err)
}

// JournalColumns are the columns of a tool call, in the order of JournalFields.
const JournalColumns = "key, entry, result"

// JournalFields returns the scan destinations of a tool call.
func JournalFields(r *store.JournalRow) []any {
	return []any{&r.Key, (*[]byte)(&r.Entry), (*[]byte)(&r.Result)}
}

// Journal returns the tool calls of a turn, in the order in which they began.
func (r *turnRecords) Journal(ctx context.Context, turnID string) ([]store.JournalRow, error) {
	list, err := CollectRows(ctx, r.db.Reader, JournalFields, "SELECT "+JournalColumns+" FROM journal WHERE turn_id = $1 ORDER BY n", turnID)
	return list, r.db.WrapError("read the journal of turn", turnID, err)
}

// State returns the last committed state of a turn.
func (r *turnRecords) State(ctx context.Context, turnID string) ([]byte, error) {
	state, err := FindValue[[]byte](ctx, r.db.Reader, "SELECT body FROM turn_states WHERE turn_id = $1", turnID)
	return state, r.db.WrapError("read the state of turn", turnID, err)
}
