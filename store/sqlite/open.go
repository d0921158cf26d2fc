package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// reading and writing are the pragmas of the connections that do so. What is
// committed is on disk (synchronous). The log is written back into the file every
// 4000 pages and kept below 64 MiB, unless a reader holds on to it. A new file can
// shrink (auto_vacuum, which counts before anything is written, so it comes first).
// The cache of the connection that writes is no larger than it has to be: SQLite goes
// through all of it at the end of each transaction that balanced a tree.
var (
	reading = []string{"busy_timeout(5000)", "query_only(ON)", "cache_size(-8192)", "temp_store(MEMORY)"}
	writing = []string{
		"busy_timeout(5000)", "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "cache_size(-8192)", "temp_store(MEMORY)",
		"wal_autocheckpoint(4000)", "journal_size_limit(67108864)",
	}
)

// Open opens a store, whose DSN is the path of a file. It makes the file when
// it is missing, with the directories above it, readable by its owner alone, and
// brings its tables up to date. It also makes files beside it whose names go on
// with -wal, -shm and .lock.
//
// The error is a *store.LockedError when another process has the file open, and
// a *store.SchemaError for a file that a newer program made.
func Open(ctx context.Context, s store.Settings) (_ *Store, err error) {
	st, err := newStore(s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(wrapError("open", st.path, explainDamage(err)), st.lock.release())
		}
	}()
	if st.lock, err = prepareFile(st.path); err != nil {
		return nil, err
	}
	if _, err := migrateFile(ctx, st.path); err != nil {
		return nil, err
	}
	if err := st.openPool(); err != nil {
		return nil, err
	}
	// A pool of its own, so that nobody else is given the connection.
	own, err := openConnections(st.path, writing)
	if err != nil {
		return nil, errors.Join(err, st.pool.Close())
	}
	own.SetMaxOpenConns(1)
	conn, err := own.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, own.Close(), st.pool.Close())
	}
	st.writer = newWriter(own, conn, st.logger)
	return st, nil
}

// OpenReadOnly opens a store to be read, also while another process has it open:
// it takes no lock, and its methods that write return ErrReadOnly. The error is
// a *store.SchemaError for a file whose tables are not those of this program.
func OpenReadOnly(ctx context.Context, s store.Settings) (_ *Store, err error) {
	st, err := newStore(s)
	if err != nil {
		return nil, err
	}
	defer func() { err = wrapError("open", st.path, explainDamage(err)) }()
	if _, err := os.Stat(st.path); err != nil {
		return nil, err
	}
	if err := st.openPool(); err != nil {
		return nil, err
	}
	if err := checkSchema(ctx, st.pool); err != nil {
		return nil, errors.Join(err, st.pool.Close())
	}
	return st, nil
}

func newStore(s store.Settings) (*Store, error) {
	if s.DSN == "" {
		return nil, errors.New("open SQLite: a DSN is required: the path of a file")
	}
	path, err := filepath.Abs(s.DSN)
	if err != nil {
		return nil, wrapError("open", s.DSN, err)
	}
	logger := s.Logger
	if logger == nil {
		logger = zap.NewNop()
	}
	return &Store{path: path, tenantTurns: s.TenantTurns, logger: logger}, nil
}

// prepareFile makes the file if it is missing, and takes its lock.
func prepareFile(path string) (*fileLock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := acquireLock(path)
	if err != nil {
		return nil, err
	}
	// SQLite gives the other files the permissions of this one.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return lock, file.Close()
}

// openPool opens the connections that read.
func (s *Store) openPool() error {
	pool, err := openConnections(s.path, reading)
	if err != nil {
		return err
	}
	conns := max(4, 2*runtime.GOMAXPROCS(0))
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	s.pool, s.read = pool, newStatements(pool)
	s.records = s.openRecords()
	return nil
}

// openConnections returns the connections to a file, which are made when they are used.
func openConnections(path string, pragmas []string) (*sql.DB, error) {
	query := url.Values{"mode": {"rw"}, "_error_rc": {"1"}, "_pragma": pragmas}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true, RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// errNotDatabase reports that a file cannot be used.
var errNotDatabase = errors.New("the file is not a SQLite database, or is damaged")

// explainDamage adds to an error what its code means for the file.
func explainDamage(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		if code := e.Code() & 0xff; code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_CORRUPT {
			return fmt.Errorf("%w: restore it from a backup, or move it away: %w", errNotDatabase, err)
		}
	}
	return err
}
