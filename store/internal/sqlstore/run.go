package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// workflowRecords keeps runs of workflows and their triggers.
type workflowRecords struct{ *core }

// runColumns are the columns of a run, in the order of runFields. Lists leave the large ones
// empty.
const (
	runColumns = `n, id, workflow_id, tenant, subject, shared, status, revision, definition, trigger_data, input, state, message, turn_id,
	due_at, run_limit, cancel_reason, version, created_at, updated_at, started_at, finished_at`
	runListColumns = `n, id, workflow_id, tenant, subject, shared, status, revision, NULL, trigger_data, NULL, NULL, message, turn_id,
	due_at, run_limit, cancel_reason, version, created_at, updated_at, started_at, finished_at`
)

// runRow is a run with its position in creation order.
type runRow struct {
	store.WorkflowRun
	n int64
}

func runFields(r *runRow) []any {
	return []any{
		&r.n, &r.ID, &r.WorkflowID, &r.Owner.Tenant, &r.Owner.Subject, (*flag)(&r.Shared), (*string)(&r.Status), &r.Revision,
		(*[]byte)(&r.Definition), (*[]byte)(&r.Trigger), (*[]byte)(&r.Input), (*[]byte)(&r.State), &r.Message, &r.TurnID, (*micros)(&r.DueAt), &r.Limit,
		&r.CancelReason, &r.Version, (*micros)(&r.CreatedAt), (*micros)(&r.UpdatedAt), (*micros)(&r.StartedAt), (*micros)(&r.FinishedAt),
	}
}

// runsOf returns the runs of rows.
func runsOf(rows []*runRow) []*store.WorkflowRun {
	var list []*store.WorkflowRun
	for _, row := range rows {
		list = append(list, &row.WorkflowRun)
	}
	return list
}

func toInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// rowsOfInsert is the maximum number of rows that a statement inserts.
const rowsOfInsert = 100

// CreateRuns stores new runs and moves cursors.
func (r *workflowRecords) CreateRuns(ctx context.Context, runs []*store.WorkflowRun, cursors []store.ScheduleCursor) ([]string, error) {
	for _, run := range runs {
		if err := run.CheckText(); err != nil {
			return nil, err
		}
	}
	return transact(ctx, r.core, "create", "runs", func(ctx context.Context, s Session) ([]string, error) {
		created, err := insertRuns(ctx, s, runs)
		if err == nil {
			err = moveCursors(ctx, s, cursors)
		}
		return created, err
	})
}

// insertRuns inserts runs and returns the ids of the new ones.
func insertRuns(ctx context.Context, s Session, runs []*store.WorkflowRun) (created []string, err error) {
	for some := range slices.Chunk(runs, rowsOfInsert) {
		var args []any
		for _, r := range some {
			args = append(args, r.ID, r.WorkflowID, r.Owner.Tenant, r.Owner.Subject, toInt(r.Shared), string(r.Status), r.Revision, []byte(r.Definition), []byte(r.Trigger),
				[]byte(r.Input), []byte(r.State), r.Message, r.TurnID, ToMicros(r.DueAt), int64(r.Limit), ToMicros(r.CreatedAt), ToMicros(r.UpdatedAt))
		}
		ids, err := CollectColumn[string](ctx, s, `INSERT INTO workflow_runs (id, workflow_id, tenant, subject, shared, status, revision, definition, trigger_data, input, state,
			message, turn_id, due_at, run_limit, created_at, updated_at) VALUES `+rowsOf(len(some), len(args))+` ON CONFLICT (tenant, id) DO NOTHING RETURNING id`, args...)
		if err != nil {
			return nil, err
		}
		created = append(created, ids...)
	}
	return created, nil
}

// moveCursors moves cursors to later times.
func moveCursors(ctx context.Context, s Session, cursors []store.ScheduleCursor) error {
	latest := make(map[[2]string]store.ScheduleCursor, len(cursors)) // a statement changes a row once
	for _, c := range cursors {
		if key := [2]string{c.Tenant, c.ID}; c.Last.After(latest[key].Last) {
			latest[key] = c
		}
	}
	inOrder := slices.SortedFunc(maps.Values(latest), func(a, b store.ScheduleCursor) int { // so that replicas do not lock each other
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID))
	})
	for some := range slices.Chunk(inOrder, rowsOfInsert) {
		var args []any
		for _, c := range some {
			args = append(args, c.Tenant, c.ID, ToMicros(c.Last))
		}
		_, err := s.Exec(ctx, `INSERT INTO workflow_cursors (tenant, id, last_at) VALUES `+rowsOf(len(some), len(args))+`
			ON CONFLICT (tenant, id) DO UPDATE SET last_at = excluded.last_at WHERE workflow_cursors.last_at < excluded.last_at`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// placeholders returns count argument placeholders, starting at number from.
func placeholders(from, count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(list, ", ")
}

// rowsOf returns the rows of an INSERT, which share args arguments equally.
func rowsOf(rows, args int) string {
	list := make([]string, rows)
	for i := range list {
		list[i] = "(" + placeholders(1+i*args/rows, args/rows) + ")"
	}
	return strings.Join(list, ", ")
}

// GetRun returns a run.
func (r *workflowRecords) GetRun(ctx context.Context, scope store.RunScope, tenant, id string) (*store.WorkflowRun, error) {
	run, err := getRun(ctx, r.db.Reader, scope, tenant, id)
	return run, r.db.WrapError("read run", id, err)
}

// getRun returns a run that the scope sees. The error is store.ErrNotFound.
func getRun(ctx context.Context, s Session, scope store.RunScope, tenant, id string) (*store.WorkflowRun, error) {
	row, err := FindRow(ctx, s, runFields, `SELECT `+runColumns+` FROM workflow_runs WHERE tenant = $1 AND id = $2`, tenant, id)
	if err == nil && !scope.Sees(row.Owner, row.Shared) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &row.WorkflowRun, nil
}

// ListRuns returns a page of runs, newest first.
func (r *workflowRecords) ListRuns(ctx context.Context, q store.RunQuery) (store.RunPage, error) {
	columns := runListColumns
	if q.Whole {
		columns = runColumns
	}
	f := r.dialect.newFilter("SELECT " + columns + " FROM workflow_runs")
	if !q.Scope.All {
		f.where("tenant = " + f.Arg(q.Scope.Owner.Tenant))
		f.where("(shared = 1 OR subject = " + f.Arg(q.Scope.Owner.Subject) + ")")
	}
	f.equals("workflow_id", q.WorkflowID)
	f.equals("status", string(q.Status))
	rows, next, err := readNumbered(ctx, r.db.Reader, f, "n", q.Page, runFields, func(row *runRow) store.Cursor { return rules.NumberCursor(row.CreatedAt, row.n) })
	return store.RunPage{Runs: runsOf(rows), Next: next}, r.db.WrapError("list", "runs", err)
}

// ClaimRuns returns runs that are due. Several replicas may call it concurrently: each gets
// different runs. With serialized transactions, it writes nothing if no run is due.
func (r *workflowRecords) ClaimRuns(ctx context.Context, c *store.ClaimRuns) (claimed []*store.WorkflowRun, err error) {
	if !r.dialect.concurrent {
		due, args := r.dueRuns(c)
		found, err := CollectColumn[int64](ctx, r.db.Reader, due, args...)
		if err != nil || len(found) == 0 {
			return nil, r.db.WrapError("look for", "runs", err)
		}
	}
	err = r.db.Execute(ctx, func(ctx context.Context, s Session) error {
		claimed, err = r.claimRuns(ctx, s, c)
		return err
	})
	return claimed, r.db.WrapError("claim", "runs", err)
}

// claimRuns leases the due runs and returns them.
func (r *workflowRecords) claimRuns(ctx context.Context, s Session, c *store.ClaimRuns) ([]*store.WorkflowRun, error) {
	due, args := r.dueRuns(c)
	args = append(args, c.Lease.Microseconds())
	rows, err := CollectRecords(ctx, s, runFields, `UPDATE workflow_runs SET version = version + 1, lease_until = `+r.dialect.micros+` + $`+strconv.Itoa(len(args))+
		` WHERE n IN (`+due+r.dialect.skipLocked+`) RETURNING `+runColumns, args...)
	return runsOf(rows), err
}

// dueRuns returns the query for the numbers of due runs.
func (r *workflowRecords) dueRuns(c *store.ClaimRuns) (query string, args []any) {
	args = []any{ToMicros(c.Now)}
	cond := ""
	switch c.Part {
	case store.RunsToBegin:
		cond = " AND r.status = 'pending'"
	case store.RunsUnderWay:
		cond = " AND r.status <> 'pending'"
	}
	if len(c.TurnIDs) > 0 {
		for _, id := range c.TurnIDs {
			args = append(args, id)
		}
		cond += " AND r.turn_id IN (" + placeholders(2, len(c.TurnIDs)) + ")"
	}
	args = append(args, int64(c.Limit))
	return `SELECT r.n FROM workflow_runs r WHERE r.finished_at = 0 AND r.lease_until <= ` + r.dialect.micros + cond + ` AND (
		(r.due_at <> 0 AND r.due_at <= $1) OR (r.turn_id <> '' AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = r.turn_id
		AND (t.status = 'waiting' AND r.status = 'waiting' OR t.status IN ('pending', 'running') AND r.status <> 'waiting'))))
		ORDER BY r.n LIMIT $` + strconv.Itoa(len(args)), args
}

// SaveRun replaces a run or holds it back. A run without a limit takes one statement, so it needs
// no transaction.
func (r *workflowRecords) SaveRun(ctx context.Context, run *store.WorkflowRun) error {
	if err := run.CheckText(); err != nil {
		return err
	}
	transact := r.db.Transact
	if run.Limit == 0 {
		transact = r.db.Execute
	}
	var held error
	version := run.Version
	err := transact(ctx, func(ctx context.Context, s Session) error {
		run.Version = version // may be retried
		err := r.saveRun(ctx, s, run)
		if held = nil; err == store.ErrRunLimit { //nolint:errorlint // it is returned as it is, and what holds the run back is written
			held, err = err, nil
		}
		return err
	})
	if err == nil {
		return held
	}
	return r.db.WrapError("save run", run.ID, err)
}

// saveRun returns store.ErrRunLimit for a run that it holds back.
func (r *workflowRecords) saveRun(ctx context.Context, s Session, run *store.WorkflowRun) error {
	if run.Limit > 0 {
		if err := r.holdBack(ctx, s, run); err != nil {
			return err
		}
	}
	n, err := s.Exec(ctx, `UPDATE workflow_runs SET status = $1, revision = $2, state = $3, message = $4, turn_id = $5, due_at = $6, version = version + 1,
		lease_until = 0, updated_at = $7, started_at = $8, finished_at = $9 WHERE tenant = $10 AND id = $11 AND version = $12`,
		string(run.Status), run.Revision, []byte(run.State), run.Message, run.TurnID, ToMicros(run.DueAt), ToMicros(run.UpdatedAt), ToMicros(run.StartedAt),
		ToMicros(run.FinishedAt), run.Owner.Tenant, run.ID, run.Version)
	if err != nil {
		return err
	}
	if n == 0 {
		return &store.StateError{Kind: "run", ID: run.ID, State: "changed", Want: "saved"}
	}
	run.Version++
	if !run.Status.Live() && run.Limit > 0 {
		return releaseRun(ctx, s, run)
	}
	return nil
}

// holdBack returns store.ErrRunLimit for a run that cannot begin. No other transaction counts the
// runs of the workflow until this one ends.
func (r *workflowRecords) holdBack(ctx context.Context, s Session, run *store.WorkflowRun) error {
	known, err := getRun(ctx, s, store.RunScope{All: true}, run.Owner.Tenant, run.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && known.Version != run.Version {
		return &store.StateError{Kind: "run", ID: run.ID, State: "changed", Want: "saved"}
	}
	if err == nil {
		err = r.lock(ctx, s, "SELECT pg_advisory_xact_lock(hashtextextended($1, 12))", run.Owner.Tenant+"/"+run.WorkflowID)
	}
	if err != nil || known.Status != store.RunPending || run.Status != store.RunRunning {
		return err
	}
	held, err := holdRun(ctx, s, run)
	if err == nil && held {
		err = store.ErrRunLimit
	}
	return err
}

// holdRun makes a run wait if its workflow has as many runs under way as allowed.
func holdRun(ctx context.Context, s Session, r *store.WorkflowRun) (held bool, err error) {
	count, err := FindValue[int](ctx, s, `SELECT count(*) FROM workflow_runs WHERE tenant = $1 AND workflow_id = $2 AND subject = $3 AND status IN ('running', 'waiting')`,
		r.Owner.Tenant, r.WorkflowID, r.Owner.Subject)
	if err != nil || count < r.Limit {
		return false, err
	}
	_, err = s.Exec(ctx, `UPDATE workflow_runs SET due_at = 0, lease_until = 0, version = version + 1 WHERE tenant = $1 AND id = $2`, r.Owner.Tenant, r.ID)
	r.Version++
	return true, err
}

// releaseRun makes the oldest held-back run of a workflow due.
func releaseRun(ctx context.Context, s Session, r *store.WorkflowRun) error {
	_, err := s.Exec(ctx, `UPDATE workflow_runs SET due_at = $1 WHERE n = (SELECT min(n) FROM workflow_runs
		WHERE tenant = $2 AND workflow_id = $3 AND subject = $4 AND status = 'pending' AND due_at = 0)`, ToMicros(r.UpdatedAt), r.Owner.Tenant, r.WorkflowID, r.Owner.Subject)
	return err
}

// CancelRun requests the end of a run.
func (r *workflowRecords) CancelRun(ctx context.Context, scope store.RunScope, tenant, id, reason string, now time.Time) (*store.WorkflowRun, error) {
	if err := (&store.WorkflowRun{CancelReason: reason}).CheckText(); err != nil {
		return nil, err
	}
	return transact(ctx, r.core, "cancel run", id, func(ctx context.Context, s Session) (*store.WorkflowRun, error) {
		return cancelRun(ctx, s, scope, tenant, id, reason, now)
	})
}

func cancelRun(ctx context.Context, s Session, scope store.RunScope, tenant, id, reason string, now time.Time) (*store.WorkflowRun, error) {
	r, err := getRun(ctx, s, scope, tenant, id)
	if err != nil {
		return nil, err
	}
	n := int64(0)
	if r.Status.Live() {
		n, err = s.Exec(ctx, `UPDATE workflow_runs SET cancel_reason = $1, due_at = $2, updated_at = $2, lease_until = 0, version = version + 1
			WHERE tenant = $3 AND id = $4 AND finished_at = 0`, reason, ToMicros(now), tenant, id)
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &store.StateError{Kind: "run", ID: id, State: string(r.Status), Want: "canceled"}
	}
	return getRun(ctx, s, scope, tenant, id)
}

// PruneRuns deletes runs that ended before a time.
func (r *workflowRecords) PruneRuns(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := r.exec(ctx, `DELETE FROM workflow_runs WHERE n IN (SELECT n FROM workflow_runs WHERE finished_at <> 0 AND finished_at < $1 ORDER BY finished_at LIMIT $2)`,
		ToMicros(before), int64(limit))
	return int(n), r.db.WrapError("delete", "old runs", err)
}
