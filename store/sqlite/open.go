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

// reading and writing are the pragmas of read and write connections. Commits reach the disk
// (synchronous). The log is checkpointed every 4000 pages and kept below 64 MiB unless a reader
// prevents it. auto_vacuum, which lets a new file shrink, must be set before anything is written.
// The writer's cache is small, because SQLite scans it after each transaction that balanced a tree.
var (
	reading = []string{"busy_timeout(5000)", "query_only(ON)", "cache_size(-8192)", "temp_store(MEMORY)"}
	writing = []string{
		"busy_timeout(5000)", "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "cache_size(-8192)", "temp_store(MEMORY)",
		"wal_autocheckpoint(4000)", "journal_size_limit(67108864)",
	}
)

// Open opens a store whose DSN is a file path. It creates a missing file and its directories,
// readable only by the owner, and updates the tables. It also creates files with the suffixes -wal,
// -shm and .lock.
//
// The error is a *store.LockedError if another process has the file open, and a *store.SchemaError
// for a file of a newer program.
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
	// A separate pool, so that no other caller gets the connection.
	own, err := openConnections(st.path, writing)
	if err != nil {
		return nil, errors.Join(err, st.pool.Close())
	}
	own.SetMaxOpenConns(1)
	conn, err := own.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, own.Close(), st.pool.Close())
	}
	st.writer = newFileWriter(own, conn, st.logger)
	return st, nil
}

// OpenReadOnly opens a store for reading, even while another process uses it: it takes no lock,
// and writing methods return ErrReadOnly. The error is a *store.SchemaError if the file's tables
// have another version.
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
	return storeAt(path, s), nil
}

func storeAt(path string, s store.Settings) *Store {
	logger := s.Logger
	if logger == nil {
		logger = zap.NewNop()
	}
	return &Store{path: path, tenantTurns: s.TenantTurns, logger: logger}
}

// prepareFile creates the file if it is missing, and takes its lock.
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

// openPool opens the read connections.
func (s *Store) openPool() error {
	pool, err := openConnections(s.path, reading)
	if err != nil {
		return err
	}
	conns := max(4, 2*runtime.GOMAXPROCS(0))
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	s.pool, s.read = pool, newStatements(pool)
	s.openRecords(session{s.read})
	return nil
}

// openConnections returns the connections to a file, which are opened on use.
func openConnections(path string, pragmas []string) (*sql.DB, error) {
	query := url.Values{"mode": {"rw"}, "_error_rc": {"1"}, "_pragma": pragmas}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true, RawQuery: query.Encode()}
	return openDSN(dsn.String())
}

func openDSN(dsn string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dsn)
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
