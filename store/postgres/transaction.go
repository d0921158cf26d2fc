package postgres

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// joinedTx is a transaction that begins in the same round trip as its first statements, which
// follow beginJoined in a pipeline.
type joinedTx struct {
	conn *pgxpool.Conn
}

// beginJoined queues the begin of a joinedTx.
func beginJoined(p *pipeline) { p.batch.Queue("begin") }

// SendBatch sends statements of the transaction.
func (t joinedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.conn.SendBatch(ctx, b)
}

// commit commits the transaction. Like pgx it returns an error if the database rolled it back.
func (t joinedTx) commit(ctx context.Context) error {
	tag, err := t.conn.Exec(ctx, "commit")
	if err == nil && tag.String() == "ROLLBACK" {
		err = pgx.ErrTxCommitRollback
	}
	return err
}

// endJoined queues the commit of a joinedTx. It takes effect if all statements before it in the
// pipeline succeed.
func endJoined(p *pipeline) { p.batch.Queue("commit") }

// hasEnded reports whether a pipeline ended the transaction, or never began it.
func (t joinedTx) hasEnded() bool { return t.conn.Conn().PgConn().TxStatus() == 'I' }

// rollback rolls the transaction back if it has begun. If that fails, the pool closes the
// connection.
func (t joinedTx) rollback(ctx context.Context) {
	if !t.conn.Conn().IsClosed() && !t.hasEnded() {
		_, _ = t.conn.Exec(ctx, "rollback")
	}
}

// openTx returns the begun transaction as a pgx transaction, for a queue that writes its jobs in
// it. The BEGIN of pgx does nothing.
func (t joinedTx) openTx(ctx context.Context) (pgx.Tx, error) {
	return t.conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: "select"})
}

// runJoined runs fn in a joinedTx, and reruns it when it loses against another transaction. The
// first pipeline that fn sends starts with beginJoined.
func (s *Store) runJoined(ctx context.Context, fn func(tx joinedTx) error) error {
	return repeatConflicts(func() error { return s.runJoinedOnce(ctx, fn) })
}

func (s *Store) runJoinedOnce(ctx context.Context, fn func(tx joinedTx) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	tx := joinedTx{conn}
	defer tx.rollback(ctx)
	if err := fn(tx); err != nil || tx.hasEnded() {
		return err
	}
	return tx.commit(ctx)
}

// batchQueue is a store.Queue that can send its jobs with other statements.
type batchQueue interface {
	// EnqueueBatch adds the statement that queues jobs to a batch.
	EnqueueBatch(b *pgx.Batch, jobs []store.Job)
}

// queueJobs queues the jobs of a pipeline's statements and sends both. A queue that only accepts a
// transaction is called after the statements.
func (s *Store) queueJobs(ctx context.Context, tx joinedTx, p *pipeline, jobs []store.Job) error {
	rest := s.batchJobs(p, jobs)
	if err := p.sendQueued(ctx, tx); err != nil {
		return err
	}
	return s.enqueueJoined(ctx, tx, rest)
}

// sendLast is queueJobs for the last statements of a transaction, and commits with them if it can.
func (s *Store) sendLast(ctx context.Context, tx joinedTx, p *pipeline, jobs []store.Job) error {
	rest := s.batchJobs(p, jobs)
	if len(rest) == 0 {
		endJoined(p)
	}
	if err := p.sendQueued(ctx, tx); err != nil {
		return err
	}
	return s.enqueueJoined(ctx, tx, rest)
}

// batchJobs queues jobs in a pipeline, and returns those that the queue does not accept that way.
func (s *Store) batchJobs(p *pipeline, jobs []store.Job) (rest []store.Job) {
	s.mu.Lock()
	q, _ := s.queue.(batchQueue)
	s.mu.Unlock()
	if q == nil || len(jobs) == 0 {
		return jobs
	}
	q.EnqueueBatch(&p.batch, jobs)
	return nil
}

// enqueueJoined queues jobs in a joinedTx.
func (s *Store) enqueueJoined(ctx context.Context, tx joinedTx, jobs []store.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	opened, err := tx.openTx(ctx)
	if err != nil {
		return err
	}
	return s.enqueueJobs(ctx, opened, jobs)
}
