package river

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// insert inserts jobs as River's clients do. A delayed job is available like the others, but
// fetches skip it until it is due.
const insert = `
INSERT INTO river_job (state, kind, queue, max_attempts, args, scheduled_at)
SELECT 'available', 'turn', $1, $2, jsonb_build_object('turn_id', job.turn_id), coalesce(job.due, now())
FROM unnest($3::text[], $4::timestamptz[]) AS job(turn_id, due)`

// insertAndRing also notifies the replicas on commit.
const insertAndRing = `WITH ring AS (SELECT ` + notify + `)` + insert + `, ring`

// executor is a transaction or the pool.
type executor interface {
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
}

// Enqueue implements store.Queue. A transaction must be a pgx.Tx on the pool's database; without
// one, the jobs are committed when Enqueue returns. It returns errors from the database.
func (d *Dispatcher) Enqueue(ctx context.Context, tx any, jobs []store.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	var on executor = d.pool
	if tx != nil {
		given, ok := tx.(pgx.Tx)
		if !ok {
			return fmt.Errorf("enqueue %d jobs: the transaction is a %T, not a pgx.Tx", len(jobs), tx)
		}
		on = given
	}
	statement, args := d.insertStatement(jobs)
	if _, err := on.Exec(ctx, statement, args...); err != nil {
		return fmt.Errorf("enqueue %d jobs, the first for turn %s: %w", len(jobs), jobs[0].TurnID, err)
	}
	return nil
}

// EnqueueBatch queues jobs like Enqueue, but adds its statement to a batch, which belongs to a
// transaction on the pool's database.
func (d *Dispatcher) EnqueueBatch(b *pgx.Batch, jobs []store.Job) {
	if len(jobs) > 0 {
		statement, args := d.insertStatement(jobs)
		b.Queue(statement, args...)
	}
}

// insertStatement returns the statement that inserts jobs, with its arguments.
func (d *Dispatcher) insertStatement(jobs []store.Job) (statement string, args []any) {
	ids, due, anyNow := make([]string, len(jobs)), make([]*time.Time, len(jobs)), false
	for i := range jobs {
		ids[i] = jobs[i].TurnID
		if jobs[i].NotBefore.IsZero() {
			anyNow = true
		} else {
			due[i] = &jobs[i].NotBefore
		}
	}
	statement = insert
	if anyNow && d.ringer.beforeInsert() {
		statement = insertAndRing
	}
	return statement, []any{d.queue, maxAttempts, ids, due}
}
