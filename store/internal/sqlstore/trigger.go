package sqlstore

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

// Cursors returns the cursors of all schedules.
func (r *workflowRecords) Cursors(ctx context.Context) ([]store.ScheduleCursor, error) {
	fields := func(c *store.ScheduleCursor) []any { return []any{&c.Tenant, &c.ID, (*micros)(&c.Last)} }
	list, err := CollectRows(ctx, r.db.Reader, fields, `SELECT tenant, id, last_at FROM workflow_cursors`)
	return list, r.db.WrapError("list", "schedules", err)
}

// SaveTrigger stores a trigger.
func (r *workflowRecords) SaveTrigger(ctx context.Context, t *store.WorkflowTrigger, isNew bool) error {
	if err := t.CheckText(); err != nil {
		return err
	}
	err := r.db.Execute(ctx, func(ctx context.Context, s Session) error { return saveTrigger(ctx, s, t, isNew) })
	return r.db.WrapError("save trigger", t.ID, err)
}

func saveTrigger(ctx context.Context, s Session, t *store.WorkflowTrigger, isNew bool) error {
	then := `DO UPDATE SET subject = excluded.subject, declared = excluded.declared, paused = excluded.paused,
		definition = excluded.definition, created_at = excluded.created_at, updated_at = excluded.updated_at`
	if isNew {
		then = `DO NOTHING`
	}
	n, err := s.Exec(ctx, `INSERT INTO workflow_triggers (tenant, kind, id, subject, declared, paused, definition, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (tenant, kind, id) `+then,
		t.Owner.Tenant, t.Kind, t.ID, t.Owner.Subject, toInt(t.Declared), toInt(t.Paused), []byte(t.Definition), ToMicros(t.CreatedAt), ToMicros(t.UpdatedAt))
	if err == nil && n == 0 {
		err = &store.ExistsError{Kind: t.Kind, ID: t.ID}
	}
	return err
}

// Triggers returns the triggers that a scope sees.
func (r *workflowRecords) Triggers(ctx context.Context, scope store.RunScope) ([]*store.WorkflowTrigger, error) {
	query := `SELECT tenant, kind, id, subject, declared, paused, definition, created_at, updated_at FROM workflow_triggers`
	var args []any
	if !scope.All {
		query += ` WHERE tenant = $1 AND (declared = 1 OR subject = $2)`
		args = []any{scope.Owner.Tenant, scope.Owner.Subject}
	}
	fields := func(t *store.WorkflowTrigger) []any {
		return []any{
			&t.Owner.Tenant, &t.Kind, &t.ID, &t.Owner.Subject, (*flag)(&t.Declared), (*flag)(&t.Paused), (*[]byte)(&t.Definition),
			(*micros)(&t.CreatedAt), (*micros)(&t.UpdatedAt),
		}
	}
	list, err := CollectRecords(ctx, r.db.Reader, fields, query+` ORDER BY n`, args...)
	return list, r.db.WrapError("list", "triggers", err)
}

// DeleteTrigger deletes a trigger, and the cursor of a schedule.
func (r *workflowRecords) DeleteTrigger(ctx context.Context, scope store.RunScope, tenant, kind, id string) error {
	err := r.db.Transact(ctx, func(ctx context.Context, s Session) error { return deleteTrigger(ctx, s, scope, tenant, kind, id) })
	return r.db.WrapError("delete trigger", id, err)
}

func deleteTrigger(ctx context.Context, s Session, scope store.RunScope, tenant, kind, id string) error {
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
