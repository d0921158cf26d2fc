// Package runsql keeps the runs of workflows in the tables of SQL databases: both
// databases have the same columns, with times in microseconds, so that they share the
// statements.
package runsql

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

// Session runs statements: in a transaction where something is written. Arguments are
// $1, $2 and so on.
type Session interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Query calls each for the rows of a query.
	Query(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error
}

// Dialect is what the databases write differently.
type Dialect struct {
	// Now returns the time of the database in microseconds, as an expression.
	Now func() string
	// SkipLocked ends a SELECT whose rows are changed, so that nobody waits for others.
	SkipLocked string
	// Lock keeps other transactions from counting the runs of the same workflow; nil
	// where there is one transaction at a time.
	Lock func(ctx context.Context, s Session, tenant, workflowID string) error
}

// columns are those of a run, in the order of scanRun; lists have empty ones in place of
// the large ones.
const (
	columns = `n, id, workflow_id, tenant, subject, shared, status, revision, definition, trigger_data, input, state, message, turn_id,
	due_at, run_limit, cancel_reason, version, created_at, updated_at, started_at, finished_at`
	listColumns = `n, id, workflow_id, tenant, subject, shared, status, revision, NULL, trigger_data, NULL, NULL, message, turn_id,
	due_at, run_limit, cancel_reason, version, created_at, updated_at, started_at, finished_at`
)

// numbered is a run with its place in the order in which runs were made.
type numbered struct {
	run *store.WorkflowRun
	n   int64
}

// scanRun reads the columns of a run.
func scanRun(scan func(dest ...any) error) (numbered, error) {
	r := new(store.WorkflowRun)
	var n, shared, limit, due, created, updated, started, finished int64
	var status string
	var definition, trigger, input, state []byte
	err := scan(&n, &r.ID, &r.WorkflowID, &r.Owner.Tenant, &r.Owner.Subject, &shared, &status, &r.Revision, &definition, &trigger, &input, &state,
		&r.Message, &r.TurnID, &due, &limit, &r.CancelReason, &r.Version, &created, &updated, &started, &finished)
	r.Shared, r.Status, r.Limit = shared != 0, store.RunStatus(status), int(limit)
	r.Definition, r.Trigger, r.Input, r.State = definition, trigger, input, state
	r.DueAt, r.CreatedAt, r.UpdatedAt, r.StartedAt, r.FinishedAt = fromMicros(due), fromMicros(created), fromMicros(updated), fromMicros(started), fromMicros(finished)
	return numbered{r, n}, err
}

// queryRuns returns the runs of a query.
func queryRuns(ctx context.Context, s Session, query string, args []any) (list []numbered, err error) {
	err = s.Query(ctx, query, args, func(scan func(dest ...any) error) error {
		one, err := scanRun(scan)
		list = append(list, one)
		return err
	})
	return list, err
}

func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

func toInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// rowsOfInsert is how many rows a statement inserts at most.
const rowsOfInsert = 100

// Create stores new runs and moves cursors. It returns the ids of the runs that are new.
func Create(ctx context.Context, s Session, runs []*store.WorkflowRun, cursors []store.ScheduleCursor) (created []string, err error) {
	for some := range slices.Chunk(runs, rowsOfInsert) {
		var args []any
		for _, r := range some {
			args = append(args, r.ID, r.WorkflowID, r.Owner.Tenant, r.Owner.Subject, toInt(r.Shared), string(r.Status), r.Revision, []byte(r.Definition), []byte(r.Trigger),
				[]byte(r.Input), []byte(r.State), r.Message, r.TurnID, toMicros(r.DueAt), int64(r.Limit), toMicros(r.CreatedAt), toMicros(r.UpdatedAt))
		}
		err := s.Query(ctx, `INSERT INTO workflow_runs (id, workflow_id, tenant, subject, shared, status, revision, definition, trigger_data, input, state,
			message, turn_id, due_at, run_limit, created_at, updated_at) VALUES `+rowsOf(len(some), len(args))+` ON CONFLICT (tenant, id) DO NOTHING RETURNING id`, args,
			func(scan func(dest ...any) error) error {
				created = append(created, "")
				return scan(&created[len(created)-1])
			})
		if err != nil {
			return nil, err
		}
	}
	return created, moveCursors(ctx, s, cursors)
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
			args = append(args, c.Tenant, c.ID, toMicros(c.Last))
		}
		_, err := s.Exec(ctx, `INSERT INTO workflow_cursors (tenant, id, last_at) VALUES `+rowsOf(len(some), len(args))+`
			ON CONFLICT (tenant, id) DO UPDATE SET last_at = excluded.last_at WHERE workflow_cursors.last_at < excluded.last_at`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// placeholders returns a number of arguments of a statement, from the one with a number
// on.
func placeholders(from, count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(list, ", ")
}

// rowsOf returns the rows of an INSERT that share a number of arguments.
func rowsOf(rows, args int) string {
	list := make([]string, rows)
	for i := range list {
		list[i] = "(" + placeholders(1+i*args/rows, args/rows) + ")"
	}
	return strings.Join(list, ", ")
}

// Get returns a run that the scope sees. The error is store.ErrNotFound.
func Get(ctx context.Context, s Session, scope store.RunScope, tenant, id string) (*store.WorkflowRun, error) {
	list, err := queryRuns(ctx, s, `SELECT `+columns+` FROM workflow_runs WHERE tenant = $1 AND id = $2`, []any{tenant, id})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || !scope.Sees(list[0].run.Owner, list[0].run.Shared) {
		return nil, store.ErrNotFound
	}
	return list[0].run, nil
}

// List returns a page of runs, the newest first.
func List(ctx context.Context, s Session, q store.RunQuery) (page store.RunPage, err error) {
	before, err := q.Page.Place()
	if err != nil {
		return page, err
	}
	var args []any
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	conds := []string{"n < " + arg(before)}
	if !q.Scope.All {
		conds = append(conds, "tenant = "+arg(q.Scope.Owner.Tenant), "(shared = 1 OR subject = "+arg(q.Scope.Owner.Subject)+")")
	}
	if q.WorkflowID != "" {
		conds = append(conds, "workflow_id = "+arg(q.WorkflowID))
	}
	if q.Status != "" {
		conds = append(conds, "status = "+arg(string(q.Status)))
	}
	list, err := queryRuns(ctx, s, `SELECT `+listColumns+` FROM workflow_runs WHERE `+strings.Join(conds, " AND ")+` ORDER BY n DESC LIMIT `+arg(int64(q.Page.Size()+1)), args)
	if err != nil {
		return page, err
	}
	list, page.Next = rules.CutPage(list, q.Page, func(r numbered) store.Cursor { return rules.NumberCursor(r.run.CreatedAt, r.n) })
	for _, one := range list {
		page.Runs = append(page.Runs, one.run)
	}
	return page, nil
}

// Claim returns runs that are due, and keeps others from getting them.
func (d *Dialect) Claim(ctx context.Context, s Session, c *store.ClaimRuns) ([]*store.WorkflowRun, error) {
	due, args := d.dueRuns(c)
	now := d.Now()
	args = append(args, c.Lease.Microseconds())
	list, err := queryRuns(ctx, s, `UPDATE workflow_runs SET version = version + 1, lease_until = `+now+` + $`+strconv.Itoa(len(args))+
		` WHERE n IN (`+due+d.SkipLocked+`) RETURNING `+columns, args)
	if err != nil {
		return nil, err
	}
	runs := make([]*store.WorkflowRun, len(list))
	for i := range list {
		runs[i] = list[i].run
	}
	return runs, nil
}

// AnyDue reports whether Claim would return a run, without writing.
func (d *Dialect) AnyDue(ctx context.Context, s Session, c *store.ClaimRuns) (found bool, err error) {
	one := *c
	one.Limit = 1
	query, args := d.dueRuns(&one)
	err = s.Query(ctx, query, args, func(scan func(dest ...any) error) error {
		found = true
		return scan(new(int64))
	})
	return found, err
}

// dueRuns returns the query of the numbers of the runs that are due.
func (d *Dialect) dueRuns(c *store.ClaimRuns) (query string, args []any) {
	args = []any{toMicros(c.Now)}
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
	return `SELECT r.n FROM workflow_runs r WHERE r.finished_at = 0 AND r.lease_until <= ` + d.Now() + cond + ` AND (
		(r.due_at <> 0 AND r.due_at <= $1) OR (r.turn_id <> '' AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = r.turn_id
		AND (t.status = 'waiting' AND r.status = 'waiting' OR t.status IN ('pending', 'running') AND r.status <> 'waiting'))))
		ORDER BY r.n LIMIT $` + strconv.Itoa(len(args)), args
}

// Save replaces a run, or holds it back. The error is store.ErrRunLimit then, which
// changes the database nevertheless. A run without a limit takes one statement, and so no
// transaction around it.
func (d *Dialect) Save(ctx context.Context, s Session, r *store.WorkflowRun) error {
	if r.Limit > 0 {
		if err := d.holdBack(ctx, s, r); err != nil {
			return err
		}
	}
	n, err := s.Exec(ctx, `UPDATE workflow_runs SET status = $1, revision = $2, state = $3, message = $4, turn_id = $5, due_at = $6, version = version + 1,
		lease_until = 0, updated_at = $7, started_at = $8, finished_at = $9 WHERE tenant = $10 AND id = $11 AND version = $12`,
		string(r.Status), r.Revision, []byte(r.State), r.Message, r.TurnID, toMicros(r.DueAt), toMicros(r.UpdatedAt), toMicros(r.StartedAt),
		toMicros(r.FinishedAt), r.Owner.Tenant, r.ID, r.Version)
	if err != nil {
		return err
	}
	if n == 0 {
		return &store.StateError{Kind: "run", ID: r.ID, State: "changed", Want: "saved"}
	}
	r.Version++
	if !r.Status.Live() && r.Limit > 0 {
		return release(ctx, s, r)
	}
	return nil
}

// holdBack returns store.ErrRunLimit for a run that cannot begin. Until the end of the
// transaction nobody else counts the runs of the workflow.
func (d *Dialect) holdBack(ctx context.Context, s Session, r *store.WorkflowRun) error {
	known, err := Get(ctx, s, store.RunScope{All: true}, r.Owner.Tenant, r.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && known.Version != r.Version {
		return &store.StateError{Kind: "run", ID: r.ID, State: "changed", Want: "saved"}
	}
	if err == nil && d.Lock != nil {
		err = d.Lock(ctx, s, r.Owner.Tenant, r.WorkflowID)
	}
	if err != nil || known.Status != store.RunPending || r.Status != store.RunRunning {
		return err
	}
	held, err := hold(ctx, s, r)
	if err == nil && held {
		err = store.ErrRunLimit
	}
	return err
}

// hold makes a run wait if as many of its workflow are under way as may be.
func hold(ctx context.Context, s Session, r *store.WorkflowRun) (held bool, err error) {
	var count int64
	err = s.Query(ctx, `SELECT count(*) FROM workflow_runs WHERE tenant = $1 AND workflow_id = $2 AND subject = $3 AND status IN ('running', 'waiting')`,
		[]any{r.Owner.Tenant, r.WorkflowID, r.Owner.Subject}, func(scan func(dest ...any) error) error { return scan(&count) })
	if err != nil || count < int64(r.Limit) {
		return false, err
	}
	_, err = s.Exec(ctx, `UPDATE workflow_runs SET due_at = 0, lease_until = 0, version = version + 1 WHERE tenant = $1 AND id = $2`, r.Owner.Tenant, r.ID)
	r.Version++
	return true, err
}

// release makes the oldest run of a workflow due that was held back.
func release(ctx context.Context, s Session, r *store.WorkflowRun) error {
	_, err := s.Exec(ctx, `UPDATE workflow_runs SET due_at = $1 WHERE n = (SELECT min(n) FROM workflow_runs
		WHERE tenant = $2 AND workflow_id = $3 AND subject = $4 AND status = 'pending' AND due_at = 0)`, toMicros(r.UpdatedAt), r.Owner.Tenant, r.WorkflowID, r.Owner.Subject)
	return err
}

// Cancel asks for the end of a run.
func Cancel(ctx context.Context, s Session, scope store.RunScope, tenant, id, reason string, now time.Time) (*store.WorkflowRun, error) {
	r, err := Get(ctx, s, scope, tenant, id)
	if err != nil {
		return nil, err
	}
	n := int64(0)
	if r.Status.Live() {
		n, err = s.Exec(ctx, `UPDATE workflow_runs SET cancel_reason = $1, due_at = $2, updated_at = $2, lease_until = 0, version = version + 1
			WHERE tenant = $3 AND id = $4 AND finished_at = 0`, reason, toMicros(now), tenant, id)
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &store.StateError{Kind: "run", ID: id, State: string(r.Status), Want: "canceled"}
	}
	return Get(ctx, s, scope, tenant, id)
}

// Prune deletes runs that ended before a time.
func Prune(ctx context.Context, s Session, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, `DELETE FROM workflow_runs WHERE n IN (SELECT n FROM workflow_runs WHERE finished_at <> 0 AND finished_at < $1 ORDER BY finished_at LIMIT $2)`,
		toMicros(before), int64(limit))
	return int(n), err
}

// Cursors returns the cursors of all schedules.
func Cursors(ctx context.Context, s Session) (list []store.ScheduleCursor, err error) {
	err = s.Query(ctx, `SELECT tenant, id, last_at FROM workflow_cursors`, nil, func(scan func(dest ...any) error) error {
		var c store.ScheduleCursor
		var last int64
		err := scan(&c.Tenant, &c.ID, &last)
		c.Last = fromMicros(last)
		list = append(list, c)
		return err
	})
	return list, err
}

// SaveTrigger stores a trigger.
func SaveTrigger(ctx context.Context, s Session, t *store.WorkflowTrigger, isNew bool) error {
	then := `DO UPDATE SET subject = excluded.subject, declared = excluded.declared, paused = excluded.paused,
		definition = excluded.definition, created_at = excluded.created_at, updated_at = excluded.updated_at`
	if isNew {
		then = `DO NOTHING`
	}
	n, err := s.Exec(ctx, `INSERT INTO workflow_triggers (tenant, kind, id, subject, declared, paused, definition, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (tenant, kind, id) `+then,
		t.Owner.Tenant, t.Kind, t.ID, t.Owner.Subject, toInt(t.Declared), toInt(t.Paused), []byte(t.Definition), toMicros(t.CreatedAt), toMicros(t.UpdatedAt))
	if err == nil && n == 0 {
		err = &store.ExistsError{Kind: t.Kind, ID: t.ID}
	}
	return err
}

// Triggers returns the triggers that a scope sees.
func Triggers(ctx context.Context, s Session, scope store.RunScope) (list []*store.WorkflowTrigger, err error) {
	query := `SELECT tenant, kind, id, subject, declared, paused, definition, created_at, updated_at FROM workflow_triggers`
	var args []any
	if !scope.All {
		query += ` WHERE tenant = $1 AND (declared = 1 OR subject = $2)`
		args = []any{scope.Owner.Tenant, scope.Owner.Subject}
	}
	err = s.Query(ctx, query+` ORDER BY n`, args, func(scan func(dest ...any) error) error {
		t := new(store.WorkflowTrigger)
		var declared, paused, created, updated int64
		var definition []byte
		err := scan(&t.Owner.Tenant, &t.Kind, &t.ID, &t.Owner.Subject, &declared, &paused, &definition, &created, &updated)
		t.Declared, t.Paused, t.Definition = declared != 0, paused != 0, definition
		t.CreatedAt, t.UpdatedAt = fromMicros(created), fromMicros(updated)
		list = append(list, t)
		return err
	})
	return list, err
}

// DeleteTrigger deletes a trigger, and the cursor of a schedule.
func DeleteTrigger(ctx context.Context, s Session, scope store.RunScope, tenant, kind, id string) error {
	n, err := s.Exec(ctx, `DELETE FROM workflow_triggers WHERE tenant = $1 AND kind = $2 AND id = $3 AND ($4 = 1 OR tenant = $5 AND (declared = 1 OR subject = $6))`,
		tenant, kind, id, toInt(scope.All), scope.Owner.Tenant, scope.Owner.Subject)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	if err == nil && kind == "schedule" {
		_, err = s.Exec(ctx, `DELETE FROM workflow_cursors WHERE tenant = $1 AND id = $2`, tenant, id)
	}
	return err
}
