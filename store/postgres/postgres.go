// Package postgres keeps the records of a runtime in PostgreSQL, which any number of processes may
// use at the same time.
//
// Commits of all turns of a process share transactions. Leases use the database's clock, so the
// clocks of the processes do not matter. Code that takes several locks takes them in one order:
// tenants, sessions, turns, each by id. This prevents deadlocks between replicas.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

// defaultConns limits the connections of a process if its DSN has no pool_max_conns. The notifier
// uses one more.
const defaultConns = 16

// records are the parts of the store that SQL databases share.
type records = sqlstore.Records

// Store is a store.Store on PostgreSQL.
type Store struct {
	records

	pool    *pgxpool.Pool
	queries *db.Queries
	logger  *zap.Logger
	capacity
	commits  *committer
	starts   gatherer[*start]
	sessions gatherer[*creation]
	notifier *Notifier
	// pooled reports whether a pooler assigns connections by transaction, or may do so.
	pooled bool

	// failing is true while writes fail, for example on a full disk.
	failing atomic.Bool
	// stale is true while the pool may have connections that were opened while the database was
	// read-only.
	stale atomic.Bool

	mu    sync.Mutex
	queue store.Queue
	// renewed is when all connections were last reopened.
	renewed time.Time
}

// capacity limits how much processes wait for each other.
type capacity struct {
	// tenantTurns is how many turns of a tenant are admitted; 0 means no limit.
	tenantTurns int
	// usageShard is the usage shard that this process writes.
	usageShard int
}

var _ store.Store = (*Store)(nil)

// poolConfig parses a DSN. Its errors do not quote the DSN, because an unescaped password may end
// up anywhere in it.
func poolConfig(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errDSN
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = defaultConns
	}
	return config, nil
}

const (
	// idleTimeout is the parameter after which the database aborts a transaction of a silent
	// process. Without it, a process cut off from the network would keep its locks, and block
	// sessions and tenants, for hours.
	idleTimeout = "idle_in_transaction_session_timeout"
	// readWhole is the parameter that allows full table scans. They are faster on a small table,
	// but a connection keeps using them after the table has grown. Every query has its index.
	readWhole = "enable_seqscan"
	// compilePlans is the parameter that lets plans be JIT-compiled. PostgreSQL would spend 100 ms
	// compiling a plan that must scan a whole table.
	compilePlans = "jit"
)

// defaultParameters returns statements that set the parameters missing in a DSN.
func defaultParameters(given map[string]string) string {
	var statements strings.Builder
	for name, value := range map[string]string{idleTimeout: "'30s'", readWhole: "off", compilePlans: "off"} {
		if _, ok := given[name]; !ok {
			fmt.Fprintf(&statements, "SET %s = %s;", name, value)
		}
	}
	return statements.String()
}

var errDSN = errors.New("invalid PostgreSQL DSN: use a URL (postgres://user:password@host:5432/database) with escaped special characters in the password, or key=value text")

// Pool returns the connection pool of the store, for a queue that writes its jobs in the store's
// transactions. The pool is closed with the store.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// IsPooled reports whether a pooler such as PgBouncer is between the store and its database. If so,
// LISTEN does not work.
func (s *Store) IsPooled() bool { return s.pooled }

// Notifier returns the notifier of the store, which is closed with the store.
func (s *Store) Notifier() *Notifier { return s.notifier }

// Attach sets the queue for jobs.
func (s *Store) Attach(q store.Queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = q
}

// Close waits for running commits, stops the notifier, and closes all connections. It may be called
// more than once.
func (s *Store) Close() error {
	s.commits.close()
	s.notifier.close()
	s.pool.Close()
	return nil
}

// enqueueJobs queues jobs in the transaction that makes them due.
func (s *Store) enqueueJobs(ctx context.Context, tx pgx.Tx, jobs []store.Job) error {
	s.mu.Lock()
	q := s.queue
	s.mu.Unlock()
	if q == nil || len(jobs) == 0 {
		return nil
	}
	if err := q.Enqueue(ctx, tx, jobs); err != nil {
		return fmt.Errorf("queue %d turns: %w", len(jobs), err)
	}
	return nil
}

// runTransaction runs fn in a transaction, and reruns it when the database aborts it in favor of
// another.
func (s *Store) runTransaction(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return repeatConflicts(func() error { return pgx.BeginFunc(ctx, s.pool, fn) })
}

// repeatConflicts calls run again while it loses against another transaction.
func repeatConflicts(run func() error) error {
	var err error
	for range maxConflicts + 1 {
		if err = run(); !isConflict(err) {
			break
		}
	}
	return err
}

// maxConflicts is how often a transaction that lost against another one is retried.
const maxConflicts = 5
