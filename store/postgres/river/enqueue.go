package river

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"
)

// notify tells River's clients of jobs in the queue $1, as River does.
const notify = `pg_notify(concat(current_schema(), '.river_insert'), json_build_object('queue', $1::text)::text)`

// notifyTimeout bounds a notification for itself.
const notifyTimeout = 5 * time.Second

// insert inserts jobs as River's clients do. A job that is due later is
// available like the others: a fetch passes over it until then.
const insert = `
INSERT INTO river_job (state, kind, queue, max_attempts, args, scheduled_at)
SELECT 'available', 'turn', $1, $2, jsonb_build_object('turn_id', job.turn_id), coalesce(job.due, now())
FROM unnest($3::text[], $4::timestamptz[]) AS job(turn_id, due)`

// insertAndRing also tells the replicas, when it is committed.
const insertAndRing = `WITH ring AS (SELECT ` + notify + `)` + insert + `, ring`

// executor is a transaction or the pool.
type executor interface {
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
}

// notifyReplicas tells the replicas of jobs.
func (d *Dispatcher) notifyReplicas(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	if _, err := d.pool.Exec(bounded, "SELECT "+notify, d.queue); err != nil && ctx.Err() == nil {
		d.log.Warn("job notification failed, replicas poll", zap.String("queue", d.queue), zap.Error(err))
	}
}

// Enqueue implements store.Queue. A transaction must be a pgx.Tx on the pool's database; without
// one, the jobs are committed when Enqueue returns. It returns errors of the database.
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

// EnqueueBatch queues jobs as Enqueue does, with the other statements of a batch,
// which belongs to a transaction on the database of the pool.
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
