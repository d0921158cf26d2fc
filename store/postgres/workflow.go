package postgres

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/runsql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// runDialect is how the statements for runs are written here.
var runDialect = runsql.Dialect{
	Now:        func() string { return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint" },
	SkipLocked: " FOR UPDATE SKIP LOCKED",
	Lock: func(ctx context.Context, s runsql.Session, tenant, workflowID string) error {
		_, err := s.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 12))", tenant+"/"+workflowID)
		return err
	},
}

// querier is a pool, or a transaction.
type querier interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// runSession runs the statements for runs.
type runSession struct{ on querier }

// Exec runs a statement.
func (s runSession) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := s.on.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// Query calls each for the rows of a query.
func (s runSession) Query(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error {
	rows, err := s.on.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	if err := rows.Err(); errorCode(err) != codeBadText {
		return err
	}
	return nil // nothing has such a text
}

// runStatement runs one statement that needs no transaction around it, again when it lost
// against a transaction.
func (s *Store) runStatement(run func() error) error {
	var err error
	for range maxConflicts + 1 {
		if err = run(); !isConflict(err) {
			break
		}
	}
	return err
}

// writeRuns changes runs in a transaction.
func (s *Store) writeRuns(ctx context.Context, do func(ctx context.Context, on runSession) error) error {
	return s.runTransaction(ctx, func(tx pgx.Tx) error { return do(ctx, runSession{tx}) })
}

// CreateRuns stores new runs and moves cursors.
func (s *Store) CreateRuns(ctx context.Context, runs []*store.WorkflowRun, cursors []store.ScheduleCursor) (created []string, err error) {
	for _, r := range runs {
		if err := r.CheckText(); err != nil {
			return nil, err
		}
	}
	err = s.writeRuns(ctx, func(ctx context.Context, on runSession) error {
		created, err = runsql.Create(ctx, on, runs, cursors)
		return err
	})
	return created, wrapError("create", "runs", err)
}

// GetRun returns a run.
func (s *Store) GetRun(ctx context.Context, scope store.RunScope, tenant, id string) (*store.WorkflowRun, error) {
	r, err := runsql.Get(ctx, runSession{s.pool}, scope, tenant, id)
	return r, wrapError("read run", id, err)
}

// ListRuns returns a page of runs.
func (s *Store) ListRuns(ctx context.Context, q store.RunQuery) (store.RunPage, error) {
	page, err := runsql.List(ctx, runSession{s.pool}, q)
	return page, wrapError("list", "runs", err)
}

// ClaimRuns returns runs that are due. Several replicas may ask at once: each gets others.
func (s *Store) ClaimRuns(ctx context.Context, c *store.ClaimRuns) (claimed []*store.WorkflowRun, err error) {
	err = s.runStatement(func() error {
		claimed, err = runDialect.Claim(ctx, runSession{s.pool}, c)
		return err
	})
	return claimed, wrapError("claim", "runs", err)
}

// SaveRun replaces a run.
func (s *Store) SaveRun(ctx context.Context, r *store.WorkflowRun) error {
	if err := r.CheckText(); err != nil {
		return err
	}
	if r.Limit == 0 {
		err := s.runStatement(func() error { return runDialect.Save(ctx, runSession{s.pool}, r) })
		return wrapError("save run", r.ID, err)
	}
	var held error
	version := r.Version
	err := s.writeRuns(ctx, func(ctx context.Context, on runSession) error {
		r.Version = version // the operation may be run again
		err := runDialect.Save(ctx, on, r)
		if held = nil; err == store.ErrRunLimit { //nolint:errorlint // it is returned as it is, and what holds the run back is written
			held, err = err, nil
		}
		return err
	})
	if err == nil {
		return held
	}
	return wrapError("save run", r.ID, err)
}

// CancelRun asks for the end of a run.
func (s *Store) CancelRun(ctx context.Context, scope store.RunScope, tenant, id, reason string, now time.Time) (r *store.WorkflowRun, err error) {
	if err := (&store.WorkflowRun{CancelReason: reason}).CheckText(); err != nil {
		return nil, err
	}
	err = s.writeRuns(ctx, func(ctx context.Context, on runSession) error {
		r, err = runsql.Cancel(ctx, on, scope, tenant, id, reason, now)
		return err
	})
	if err != nil {
		return nil, wrapError("cancel run", id, err)
	}
	return r, nil
}

// PruneRuns deletes old runs.
func (s *Store) PruneRuns(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.writeRuns(ctx, func(ctx context.Context, on runSession) error {
		n, err = runsql.Prune(ctx, on, before, limit)
		return err
	})
	return n, wrapError("delete", "old runs", err)
}

// Cursors returns the cursors of all schedules.
func (s *Store) Cursors(ctx context.Context) ([]store.ScheduleCursor, error) {
	list, err := runsql.Cursors(ctx, runSession{s.pool})
	return list, wrapError("list", "schedules", err)
}

// SaveTrigger stores a trigger.
func (s *Store) SaveTrigger(ctx context.Context, t *store.WorkflowTrigger, isNew bool) error {
	if err := t.CheckText(); err != nil {
		return err
	}
	err := s.writeRuns(ctx, func(ctx context.Context, on runSession) error { return runsql.SaveTrigger(ctx, on, t, isNew) })
	return wrapError("save trigger", t.ID, err)
}

// Triggers returns the triggers that the scope sees.
func (s *Store) Triggers(ctx context.Context, scope store.RunScope) ([]*store.WorkflowTrigger, error) {
	list, err := runsql.Triggers(ctx, runSession{s.pool}, scope)
	return list, wrapError("list", "triggers", err)
}

// DeleteTrigger deletes a trigger.
func (s *Store) DeleteTrigger(ctx context.Context, scope store.RunScope, tenant, kind, id string) error {
	err := s.writeRuns(ctx, func(ctx context.Context, on runSession) error {
		return runsql.DeleteTrigger(ctx, on, scope, tenant, kind, id)
	})
	return wrapError("delete trigger", id, err)
}
