package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
	"modernc.org/sqlite"
)

// maxBatch is the maximum number of operations that share a transaction.
const maxBatch = 512

// operation is one or more changes that are made together or not at all. It may run more than once,
// and only the results of its last run count. It must check before it writes, because an operation
// that fails after writing makes the others in its transaction start again.
type operation func(ctx context.Context, tx *tx) error

// The states of a request.
const (
	waits int32 = iota
	begun
	abandoned // its caller has gone
)

// request is an operation whose caller waits.
type request struct {
	run   operation
	state atomic.Int32
	err   error
	// done receives the outcome.
	done chan error
}

// writer runs operations in transactions and queues their jobs.
type writer interface {
	runOperation(ctx context.Context, run operation) error
	attachQueue(q store.Queue)
	close() error
}

// fileWriter owns the write connection of a file.
type fileWriter struct {
	transactor
	outbox

	pool     *sql.DB // has only this connection
	requests chan *request
	// stop stops the goroutine, and stopped is closed when the goroutine has ended.
	stop, stopped chan struct{}
}

// transactor runs operations on its connection, in one transaction at a time.
type transactor struct {
	conn *sql.Conn
	tx   tx
}

func newTransactor(conn *sql.Conn) transactor {
	on := &counted{statements: newStatements(conn)}
	return transactor{conn: conn, tx: tx{session: session{on}, counted: on}}
}

// outbox passes jobs to the queue.
type outbox struct {
	logger *zap.Logger

	mu    sync.Mutex
	queue store.Queue
	// unsent are jobs that the queue rejected.
	unsent []store.Job
}

// tx is the current transaction.
type tx struct {
	session
	counted *counted
	// jobs are the jobs to queue when the transaction is on disk.
	jobs []store.Job
}

// counted counts the written rows.
type counted struct {
	*statements
	rows int64
}

// ExecContext executes a query without rows.
func (c *counted) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := c.statements.ExecContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	n, err := result.RowsAffected()
	c.rows += n
	return result, err
}

func newFileWriter(pool *sql.DB, conn *sql.Conn, logger *zap.Logger) *fileWriter {
	w := &fileWriter{
		transactor: newTransactor(conn), outbox: outbox{logger: logger}, pool: pool,
		requests: make(chan *request, maxBatch), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.runWriter()
	return w
}

// runOperation runs an operation and returns when it is on disk. If ctx ends, it drops an operation
// that has not begun but waits for one that has, because an error must mean that nothing changed.
func (w *fileWriter) runOperation(ctx context.Context, run operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{run: run, done: make(chan error, 1)}
	select {
	case <-w.stop:
		return ErrClosed
	default:
	}
	select {
	case w.requests <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stopped:
		return ErrClosed
	}
	gone := ErrClosed
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		gone = ctx.Err()
	case <-w.stopped:
	}
	if r.state.CompareAndSwap(waits, abandoned) {
		return gone
	}
	return <-r.done
}

// close writes the waiting operations and stops the goroutine.
func (w *fileWriter) close() error {
	close(w.stop)
	<-w.stopped
	return errors.Join(w.tx.counted.close(), w.conn.Close(), w.pool.Close())
}

// runWriter writes until the writer is closed and nothing waits.
func (w *fileWriter) runWriter() {
	defer close(w.stopped)
	batch := make([]*request, 0, maxBatch)
	for stopping := false; ; {
		if stopping {
			batch = w.addWaiting(batch[:0])
			if len(batch) == 0 {
				return
			}
			w.writeBatch(batch)
			continue
		}
		select {
		case r := <-w.requests:
			// Let in callers that just got their result and want to write again.
			runtime.Gosched()
			w.writeBatch(w.addWaiting(append(batch[:0], r)))
		case <-w.stop:
			stopping = true
		}
	}
}

// addWaiting adds waiting requests to a batch, up to its limit.
func (w *fileWriter) addWaiting(batch []*request) []*request {
	for len(batch) < maxBatch {
		select {
		case r := <-w.requests:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// writeBatch runs the operations of a batch and replies to their callers.
func (w *fileWriter) writeBatch(batch []*request) {
	n := 0
	for _, r := range batch {
		if r.state.CompareAndSwap(waits, begun) {
			batch[n] = r
			n++
		}
	}
	batch = batch[:n]
	ctx := context.Background() // begun operations run to their end
	w.tx.jobs = nil
	if !w.runTogether(ctx, batch) {
		for i := range batch {
			w.runTogether(ctx, batch[i:i+1])
		}
	}
	w.enqueueJobs(ctx, w.tx.jobs)
	for i, r := range batch {
		r.done <- r.err
		batch[i] = nil
	}
}

// runTogether runs operations in one transaction. It returns false if nothing was written because
// one of several failed half-way; they must then run one by one.
func (t *transactor) runTogether(ctx context.Context, batch []*request) bool {
	queued := len(t.tx.jobs)
	fail := func(err error) bool {
		t.rollbackTransaction(ctx)
		t.tx.jobs = t.tx.jobs[:queued]
		for _, r := range batch {
			r.err = err
		}
		return true
	}
	if err := t.beginTransaction(ctx); err != nil {
		return fail(fmt.Errorf("begin to write: %w", err))
	}
	for _, r := range batch {
		rows, jobs := t.tx.counted.rows, len(t.tx.jobs)
		r.err = r.run(ctx, &t.tx)
		if r.err == nil {
			continue
		}
		t.tx.jobs = t.tx.jobs[:jobs]
		// SQLite may have rolled the transaction back by itself.
		if t.tx.counted.rows == rows && !errors.As(r.err, new(*sqlite.Error)) {
			continue
		}
		fail(r.err)
		return len(batch) == 1
	}
	if _, err := t.tx.counted.statements.ExecContext(ctx, "COMMIT"); err != nil {
		return fail(fmt.Errorf("commit: %w", err))
	}
	return true
}

// beginTransaction begins a transaction.
func (t *transactor) beginTransaction(ctx context.Context) error {
	_, err := t.tx.counted.statements.ExecContext(ctx, "BEGIN IMMEDIATE")
	if err == nil {
		return nil
	}
	t.rollbackTransaction(ctx) // of one that could not be rolled back before
	_, err = t.tx.counted.statements.ExecContext(ctx, "BEGIN IMMEDIATE")
	return err
}

// rollbackTransaction rolls back the transaction, if any.
func (t *transactor) rollbackTransaction(ctx context.Context) {
	_, _ = t.tx.counted.statements.ExecContext(ctx, "ROLLBACK") // SQLite may have done so
}

// attachQueue sets the queue.
func (o *outbox) attachQueue(q store.Queue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = q
}

// enqueueJobs queues jobs. Jobs that the queue rejects are queued again with the next ones.
func (o *outbox) enqueueJobs(ctx context.Context, jobs []store.Job) {
	o.mu.Lock()
	queue := o.queue
	if queue != nil && len(o.unsent) > 0 {
		jobs, o.unsent = append(o.unsent, jobs...), nil
	}
	o.mu.Unlock()
	if len(jobs) == 0 || queue == nil {
		return
	}
	if err := queue.Enqueue(ctx, nil, jobs); err != nil {
		o.logger.Error("queueing turns failed; will retry", zap.Int("turns", len(jobs)), zap.Error(err))
		o.mu.Lock()
		defer o.mu.Unlock()
		o.unsent = append(o.unsent, jobs...)
	}
}
