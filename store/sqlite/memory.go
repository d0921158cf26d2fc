package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/migration"
	"modernc.org/sqlite"
)

// The databases in memory: emptyDSN has the tables without rows, and each connection to ownDSN has
// a database of its own. Small pages save memory: most tables of most stores are empty.
const (
	ownDSN   = "file::memory:?_error_rc=1&_pragma=page_size(1024)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)"
	emptyDSN = "file:/agentruntime?vfs=memdb&_error_rc=1&_pragma=page_size(1024)"
)

// OpenInMemory opens a new store in memory. It ignores the DSN. A store that is not closed is
// released by the garbage collector; it has no goroutines. If it cannot be opened, its methods
// return the reason.
func OpenInMemory(s store.Settings) *Store {
	st := storeAt("memory", s)
	conn, err := openOwn(context.Background())
	w := &memoryWriter{outbox: outbox{logger: st.logger}}
	if err != nil {
		w.unusable = fmt.Errorf("open a database in memory: %w", err)
	} else {
		w.transactor = newTransactor(conn)
		runtime.AddCleanup(st, func(t transactor) { _ = t.release() }, w.transactor) // nobody waits for the error
	}
	st.writer = w
	st.openRecords(w)
	return st
}

// openOwn returns the connection to a new database with the tables of a store.
func openOwn(ctx context.Context) (*sql.Conn, error) {
	if _, err := emptyDatabase(); err != nil {
		return nil, err
	}
	conn, err := openSingle(ctx, ownDSN)
	if err != nil {
		return nil, err
	}
	err = conn.Raw(func(on any) error {
		restore, err := on.(interface {
			NewRestore(dsn string) (*sqlite.Backup, error)
		}).NewRestore(emptyDSN)
		if err != nil {
			return err
		}
		_, err = restore.Step(-1)
		return errors.Join(err, restore.Finish())
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// emptyDatabase creates the database without rows, which lasts as long as the connection to it.
var emptyDatabase = sync.OnceValues(func() (*sql.Conn, error) {
	ctx := context.Background()
	conn, err := openSingle(ctx, emptyDSN)
	if err != nil {
		return nil, err
	}
	if err := migration.Create(ctx, conn, migrations); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
})

// openSingle opens a connection without a pool. Closing the pool ends its goroutine, and the
// connection stays open.
func openSingle(ctx context.Context, dsn string) (*sql.Conn, error) {
	pool, err := openDSN(dsn)
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	return conn, errors.Join(err, pool.Close())
}

// memoryWriter writes and reads a database in memory. One lock guards its only connection.
type memoryWriter struct {
	outbox

	mu sync.Mutex
	transactor
	// unusable is why the connection cannot be used: it could not be opened or was closed.
	unusable error
}

// withLock calls do with the lock held. A call that has begun runs to its end, because it waits for
// no disk.
func (w *memoryWriter) withLock(ctx context.Context, do func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unusable != nil {
		return w.unusable
	}
	return do(context.Background())
}

// runOperation runs an operation in a transaction of its own. It queues the jobs without the lock,
// because the queue may use the store.
func (w *memoryWriter) runOperation(ctx context.Context, run operation) error {
	var jobs []store.Job
	err := w.withLock(ctx, func(ctx context.Context) error {
		r := &request{run: run}
		w.tx.jobs = nil
		w.runTogether(ctx, []*request{r})
		jobs = w.tx.jobs
		return r.err
	})
	if err != nil {
		return err
	}
	w.enqueueJobs(context.WithoutCancel(ctx), jobs)
	return nil
}

// Exec runs a statement.
func (w *memoryWriter) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = w.withLock(ctx, func(ctx context.Context) error {
		n, err = w.tx.Exec(ctx, query, args...)
		return err
	})
	return n, err
}

// Query calls each for every row of a query.
func (w *memoryWriter) Query(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error {
	return w.withLock(ctx, func(ctx context.Context) error { return w.tx.Query(ctx, query, args, each) })
}

// close closes the database, which is then lost.
func (w *memoryWriter) close() error {
	return w.withLock(context.Background(), func(context.Context) error {
		w.unusable = ErrClosed
		return w.release()
	})
}

// release closes the connection and its statements.
func (t *transactor) release() error { return errors.Join(t.tx.counted.close(), t.conn.Close()) }
